package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// Text is a schedule as a scenario file, with the verdicts that it is about; comment
// goes above it, a line each.
func (s *Schedule) Text(about About, comment ...string) []byte {
	var b strings.Builder
	for _, line := range comment {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	f := &file{Builder: &b, ttl: s.TTL}
	f.line(0, "name", about.Name)
	f.line(0, "title", quote(about.Title))
	f.line(0, "source", quote(about.Source))
	f.line(0, "lesson", quote(about.Lesson))
	f.line(0, "on", "[virtual, local, docker]")
	if s.TTL != time.Second {
		f.line(0, "ttl", s.TTL.String())
	}
	f.line(0, "nodes", fmt.Sprint(s.Nodes))
	for alias, of := range s.Aliases {
		f.line(0, "aliases", fmt.Sprintf("{%s: %s}", alias, of))
	}
	f.line(0, "clients", fmt.Sprint(s.Clients))
	if s.Persistence != "" {
		f.line(0, "persistence", string(s.Persistence))
	}
	f.lock(about.Lock, s.Lock)
	f.bounds(s.bounds())
	f.script(s)
	f.line(0, "earned", "{grants: 1, contended: 0, faults: 0}")
	f.expect(about)
	return []byte(b.String())
}

// About is what a scenario file says beside its schedule.
type About struct {
	Name, Title, Source, Lesson string
	Lock                        string
	// Expect is the verdict on each property that is expected of a lock that is right.
	Expect map[string]string
	// Without are the rules that were off, and Property what was then violated.
	Without  []string
	Property string
}

// file writes lines of a scenario file.
type file struct {
	*strings.Builder
	ttl time.Duration
}

func (f *file) line(depth int, key, value string) {
	fmt.Fprintf(f, "%s%s: %s\n", strings.Repeat("  ", depth), key, value)
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// lock writes the options that were drawn, and the lock unless it is the reference.
func (f *file) lock(name string, l Lock) {
	var options []string
	if name != "" {
		options = append(options, "name: "+name)
	}
	if l.NodeTimeout > 0 {
		options = append(options, "node-timeout: "+f.span(l.NodeTimeout))
	}
	if l.RetryMax > 0 {
		options = append(options, fmt.Sprintf("retry: [%s, %s]", f.span(l.RetryMin), f.span(l.RetryMax)))
	}
	if l.Tries > 0 {
		options = append(options, fmt.Sprintf("tries: %d", l.Tries))
	}
	if l.MaxExtensions > 0 {
		options = append(options, fmt.Sprintf("max-extensions: %d", l.MaxExtensions))
	}
	if l.Resends > 0 {
		options = append(options, fmt.Sprintf("resends: %d", l.Resends))
	}
	if len(options) > 0 {
		f.line(0, "lock", "{"+strings.Join(options, ", ")+"}")
	}
}

// bounds writes those that are not the default.
func (f *file) bounds(b scenarios.Bounds) {
	var all []string
	for _, name := range history.BoundNames {
		if bound, is := b[name]; is {
			all = append(all, name+": "+f.span(bound.In(f.ttl)))
		}
	}
	if len(all) > 0 {
		f.line(0, "bounds", "{"+strings.Join(all, ", ")+"}")
	}
}

// script writes the steps, and the waits between them.
func (f *file) script(s *Schedule) {
	f.WriteString("script:\n")
	for _, step := range s.Scenario("", nil).Script {
		if step.Verb == scenarios.VerbWait {
			fmt.Fprintf(f, "  - wait: %s\n", f.span(step.Wait.Fixed))
			continue
		}
		targets := step.Targets[0]
		if len(step.Targets) > 1 {
			targets = "[" + strings.Join(step.Targets, ", ") + "]"
		}
		fmt.Fprintf(f, "  - %s: %s\n", step.Verb, targets)
		for _, m := range f.modifiers(step) {
			fmt.Fprintf(f, "    %s\n", m)
		}
	}
}

// modifiers are a step's that are not what they are by default.
func (f *file) modifiers(step scenarios.Step) []string {
	var out []string
	add := func(is bool, name string, value any) {
		if is {
			out = append(out, fmt.Sprintf("%s: %v", name, value))
		}
	}
	span := func(name string, s scenarios.Span) { add(!s.IsZero(), name, f.span(s.Fixed)) }
	add(step.Async, "async", true)
	add(step.IfHeld, "if-held", true)
	add(step.Of != "", "of", step.Of)
	add(step.Part != "", "part", step.Part)
	add(step.Direction != "" && step.Direction != "both", "direction", step.Direction)
	span("by", step.By)
	span("jump", step.Jump)
	add(step.Rate != 0, "rate", step.Rate)
	span("within", step.Within)
	span("for", step.For)
	span("after", step.After)
	return out
}

// span writes a duration in TTLs where that is short.
func (f *file) span(d time.Duration) string {
	if thousandth := f.ttl / timeSteps; d%thousandth == 0 {
		return scenarios.Span{TTLs: float64(d/thousandth) / timeSteps}.String()
	}
	return d.String()
}

// expect writes what is expected of the lock as it should be, and of the lock as it is
// where rules are off.
func (f *file) expect(about About) {
	f.WriteString("expect:\n")
	for _, property := range sortedKeys(about.Expect) {
		f.line(1, property, about.Expect[property])
	}
	if len(about.Without) > 0 {
		f.WriteString("variants:\n")
		fmt.Fprintf(f, "  - without: [%s]\n", strings.Join(about.Without, ", "))
		fmt.Fprintf(f, "    expect: {%s: violated}\n", about.Property)
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
