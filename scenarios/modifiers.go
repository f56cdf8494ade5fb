package scenarios

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
)

// modifiers returns the readers of a step's modifiers.
func (d *decoder) modifiers(s *Step) map[string]reader {
	return map[string]reader{
		"key":          set(&s.Key, text),
		"to":           set(&s.To, oneOf("nodes", d.s.Nodes...)),
		"mistake":      set(&s.Mistake, oneOf("mistakes", nemesis.SlotMistakes...)),
		"thread":       set(&s.Thread, (*decoder).thread),
		"reaching":     set(&s.Reaching, someOf("nodes", d.s.Servers()...)),
		"async":        set(&s.Async, (*decoder).boolean),
		"if-held":      set(&s.IfHeld, (*decoder).boolean),
		"if-supported": set(&s.IfSupported, (*decoder).boolean),
		"must":         set(&s.Must, oneOf("outcomes", "ok", "fail")),
		"within":       set(&s.Within, positive.span),
		"for":          set(&s.For, positive.span),
		"after":        set(&s.After, positive.span),
		"of":           set(&s.Of, oneOf("commands", commands...)),
		"part":         set(&s.Part, oneOf("parts", history.PartCommand, history.PartReply)),
		"each-message": set(&s.EachMessage, (*decoder).boolean),
		"times":        set(&s.Times, integer(1, 1000)),
		"direction":    set(&s.Direction, direction),
		"by":           set(&s.By, zeroOrMore.span),
		"jump":         set(&s.Jump, (*decoder).jump),
		"rate":         set(&s.Rate, rate),
		"has":          set(&s.Has, oneOf("sights", "received", "answered")),
	}
}

// commands are effects on a lock's key, and commands that locks send; EVAL stands for EVALSHA too.
var commands = []string{history.Take, history.Extend, history.Release, "SET", "GET", "EVAL", "DEL", "SETNX", "EXPIRE",
	"PEXPIRE", "INCR", "WAIT", "INFO", "TIME", "EXISTS", "PTTL", "DELEX", "DELIFEQ", "PUBLISH", "SUBSCRIBE", "FCALL"}

// rate reads a clock's rate; the true clock's is 1.
var rate = number(0.01, 100)

func (d *decoder) thread(n ast.Node, what string) string {
	name := d.text(n, what)
	if name != "" && !clientName.MatchString(name) {
		d.report(position(n), fmt.Sprintf("invalid thread name %q", name),
			"want a letter, then letters and digits, for example b")
	}
	return name
}

func (d *decoder) jump(n ast.Node, what string) Span {
	before := len(d.problems)
	span := anySign.span(d, n, what)
	if span.IsZero() && len(d.problems) == before {
		d.report(position(n), "the jump is 0", "want another duration, for example `jump: 1 ttl` or `jump: -50ms`")
	}
	return span
}

// checkThreadOrder reports steps that depend on a missing earlier step.
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
