package scenarios

import (
	"fmt"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/nemesis"
)

// readers read the modifiers of steps into them.
var readers = map[string]func(*decoder, ast.Node, *Step){
	"key": func(d *decoder, n ast.Node, s *Step) { s.Key = d.text(n, "key") },
	"to":  func(d *decoder, n ast.Node, s *Step) { s.To = d.keyword(n, "to", d.s.Nodes, "nodes") },
	"mistake": func(d *decoder, n ast.Node, s *Step) {
		s.Mistake = d.keyword(n, "mistake", nemesis.SlotMistakes, "mistakes")
	},
	"thread":   func(d *decoder, n ast.Node, s *Step) { s.Thread = d.thread(n) },
	"reaching": func(d *decoder, n ast.Node, s *Step) { s.Reaching = d.keywords(n, "reaching", d.s.Servers(), "nodes") },
	"async":    func(d *decoder, n ast.Node, s *Step) { s.Async = d.boolean(n, "async") },
	"if-held":  func(d *decoder, n ast.Node, s *Step) { s.IfHeld = d.boolean(n, "if-held") },
	"must":     func(d *decoder, n ast.Node, s *Step) { s.Must = d.keyword(n, "must", outcomes, "outcomes") },
	"within":   func(d *decoder, n ast.Node, s *Step) { s.Within = d.span(n, "within", positive) },
	"for":      func(d *decoder, n ast.Node, s *Step) { s.For = d.span(n, "for", positive) },
	"after":    func(d *decoder, n ast.Node, s *Step) { s.After = d.span(n, "after", positive) },
	"of": func(d *decoder, n ast.Node, s *Step) {
		s.Of = d.keyword(n, "of", slices.Concat(promisedEffects, commands), "commands")
	},
	"part":  func(d *decoder, n ast.Node, s *Step) { s.Part = cluster.Part(d.keyword(n, "part", parts, "parts")) },
	"times": func(d *decoder, n ast.Node, s *Step) { s.Times = d.integer(n, "times", 1, 1000) },
	"direction": func(d *decoder, n ast.Node, s *Step) {
		s.Direction = d.direction(n)
	},
	"by":   func(d *decoder, n ast.Node, s *Step) { s.By = d.span(n, "by", zeroOrMore) },
	"jump": func(d *decoder, n ast.Node, s *Step) { s.Jump = d.jump(n) },
	"rate": func(d *decoder, n ast.Node, s *Step) { s.Rate = d.rate(n) },
	"has":  func(d *decoder, n ast.Node, s *Step) { s.Has = d.keyword(n, "has", untilEvents, "sights") },
}

// What the values of some modifiers may be.
var (
	outcomes    = []string{"ok", "fail"}
	parts       = []string{string(cluster.PartCommand), string(cluster.PartReply)}
	untilEvents = []string{"received", "answered"}
	// promisedEffects are what commands of many names do to a lock's key.
	promisedEffects = []string{cluster.Take, cluster.Extend, cluster.Release}
	// commands are those that locks send; EVAL stands for EVALSHA too.
	commands = []string{"SET", "GET", "EVAL", "DEL", "SETNX", "EXPIRE", "PEXPIRE", "INCR", "WAIT", "INFO", "TIME",
		"EXISTS", "PTTL", "DELEX", "DELIFEQ", "PUBLISH", "SUBSCRIBE", "FCALL"}
)

// The slowest and fastest clocks; a rate of 1 is the true one.
const minRate, maxRate = 0.01, 100

func (d *decoder) rate(n ast.Node) float64 { return d.number(n, "rate", minRate, maxRate) }

// thread reads the name of a thread of a client.
func (d *decoder) thread(n ast.Node) string {
	name := d.text(n, "thread")
	if name != "" && !clientName.MatchString(name) {
		d.report(position(n), fmt.Sprintf("invalid thread name %q", name),
			"want a letter, then letters and digits, for example b")
	}
	return name
}

// jump reads by how much a clock jumps, which may be backwards.
func (d *decoder) jump(n ast.Node) Span {
	before := len(d.problems)
	span := d.span(n, "jump", either)
	if span.IsZero() && len(d.problems) == before {
		d.report(position(n), "the jump is 0", "want another duration, for example `jump: 1 ttl` or `jump: -50ms`")
	}
	return span
}

// checkThreadOrder finds steps that rest on an earlier one that is not there.
func (d *decoder) checkThreadOrder(steps []Step) {
	acquired, async := map[string]bool{}, map[string]bool{}
	for _, step := range steps {
		at := &token.Position{Line: step.Line, Column: step.Column}
		for _, c := range step.Targets {
			switch step.Verb {
			case VerbAcquire:
				acquired[c] = true
			case VerbExtend, VerbRelease, VerbCheck, VerbWatch:
				if !acquired[c] {
					d.report(at, fmt.Sprintf("%s of %s, which has not acquired anything yet", step.Verb, c),
						fmt.Sprintf("put `- acquire: %s` before this step", c))
				}
			case VerbAwait:
				if !async[c] {
					d.report(at, fmt.Sprintf("await of %s, which has no operation in progress", c),
						fmt.Sprintf("put a step of %s with `async: true` before this one", c))
				}
			}
			async[c] = async[c] || step.Async
		}
	}
}
