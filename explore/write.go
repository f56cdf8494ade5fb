package explore

import (
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// About is what a scenario file says beside its schedule.
type About struct {
	Name, Title, Source, Lesson string
	Lock                        string // "": the reference
	// Expect is the verdict on each property that is expected of a lock that is right.
	Expect map[string]string
	// Without are the rules that were off, and Property what was then violated.
	Without  []string
	Property string
}

// Text is a schedule as a scenario file, with the verdicts that it is about; comment
// goes above it, a line each.
func (s *Schedule) Text(about About, comment ...string) []byte {
	var f mapping
	f.add("name", about.Name)
	f.add("title", about.Title)
	f.add("source", about.Source)
	f.add("lesson", about.Lesson)
	if s.TTL != time.Second {
		f.add("ttl", s.TTL.String())
	}
	f.add("nodes", s.Nodes)
	f.add("aliases", s.Aliases)
	f.add("clients", s.Clients)
	f.add("persistence", string(s.Persistence))
	f.add("lock", s.lock(about.Lock))
	f.add("bounds", s.boundTexts())
	f.add("script", s.script())
	f.add("earned", map[string]int{"grants": 1, "contended": 0, "faults": 0})
	f.add("expect", about.Expect)
	if len(about.Without) > 0 {
		violated := map[string]string{about.Property: history.Violated}
		f.add("variants", []mapping{{{Key: "without", Value: about.Without}, {Key: "expect", Value: violated}}})
	}
	text, err := yaml.MarshalWithOptions(yaml.MapSlice(f), yaml.IndentSequence(true))
	if err != nil {
		panic(err) // it is made of names and numbers
	}
	var b strings.Builder
	for _, line := range comment {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	return append([]byte(b.String()), text...)
}

// mapping is one of a scenario file, in its order.
type mapping yaml.MapSlice

// add adds a key, unless its value is what it is by default.
func (m *mapping) add(key string, value any) {
	if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
		*m = append(*m, yaml.MapItem{Key: key, Value: value})
	}
}

// MarshalYAML keeps the order.
func (m mapping) MarshalYAML() (any, error) { return yaml.MapSlice(m), nil }

// lock are the options that were drawn, and the lock unless it is the reference.
func (s *Schedule) lock(name string) (m mapping) {
	m.add("name", name)
	m.add("node-timeout", s.span(s.Lock.NodeTimeout))
	if s.Lock.RetryMax > 0 {
		m.add("retry", []string{s.span(s.Lock.RetryMin), s.span(s.Lock.RetryMax)})
	}
	m.add("tries", s.Lock.Tries)
	m.add("max-extensions", s.Lock.MaxExtensions)
	m.add("resends", s.Lock.Resends)
	return m
}

// boundTexts are those that are not the default.
func (s *Schedule) boundTexts() (m mapping) {
	for _, name := range history.BoundNames {
		m.add(name, s.span(s.bounds()[name].In(s.TTL)))
	}
	return m
}

// script are the steps, and the waits between them, without what is so by default.
func (s *Schedule) script() []mapping {
	var all []mapping
	for _, step := range s.Scenario("", nil).Script {
		var m mapping
		if len(step.Targets) == 1 {
			m.add(string(step.Verb), step.Targets[0])
		} else {
			m.add(string(step.Verb), step.Targets)
		}
		m.add("wait", s.span(step.Wait.Fixed))
		m.add("async", step.Async)
		m.add("if-held", step.IfHeld)
		m.add("of", step.Of)
		m.add("part", string(step.Part))
		if step.Direction != history.Both {
			m.add("direction", string(step.Direction))
		}
		m.add("rate", step.Rate)
		for _, span := range []struct {
			name  string
			value scenarios.Span
		}{{"by", step.By}, {"jump", step.Jump}, {"within", step.Within}, {"for", step.For}, {"after", step.After}} {
			m.add(span.name, s.span(span.value.Fixed))
		}
		all = append(all, m)
	}
	return all
}

// span writes a duration in TTLs where that is short, "" where it is none.
func (s *Schedule) span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	if thousandth := s.TTL / timeSteps; d%thousandth == 0 {
		return scenarios.Span{TTLs: float64(d/thousandth) / timeSteps}.String()
	}
	return d.String()
}
