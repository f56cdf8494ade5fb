package explore

import (
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// Text writes the scenario of a schedule as a file, below comment lines.
func Text(s *scenarios.Scenario, comment ...string) []byte {
	var f mapping
	f.add("name", s.Name)
	f.add("title", s.Title)
	f.add("source", strings.Join(s.Source, "; "))
	f.add("lesson", s.Lesson)
	if s.TTL != time.Second {
		f.add("ttl", s.TTL.String())
	}
	f.add("nodes", len(s.Nodes))
	f.add("aliases", s.Aliases)
	f.add("clients", len(s.Clients))
	f.add("persistence", string(s.Persistence))
	f.add("lock", lockOptions(s))
	f.add("bounds", bounds(s))
	f.add("script", script(s))
	f.add("earned", map[string]int{"grants": 1, "contended": 0, "faults": 0})
	f.add("expect", s.Expect)
	var variants []mapping
	for _, v := range s.Variants {
		variants = append(variants, mapping{{Key: "without", Value: v.Without}, {Key: "expect", Value: v.Expect}})
	}
	f.add("variants", variants)
	text, err := yaml.MarshalWithOptions(yaml.MapSlice(f), yaml.IndentSequence(true))
	if err != nil {
		panic(err) // names and numbers can always be marshalled
	}
	var b strings.Builder
	for _, line := range comment {
		b.WriteString(strings.TrimRight("# "+line, " ") + "\n")
	}
	return append([]byte(b.String()), text...)
}

// mapping is a YAML mapping that keeps the order of its keys.
type mapping yaml.MapSlice

// add adds a key unless its value is the default.
func (m *mapping) add(key string, value any) {
	if v := reflect.ValueOf(value); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
		*m = append(*m, yaml.MapItem{Key: key, Value: value})
	}
}

func (m mapping) MarshalYAML() (any, error) { return yaml.MapSlice(m), nil }

func lockOptions(s *scenarios.Scenario) (m mapping) {
	m.add("name", s.Lock.Name)
	m.add("node-timeout", span(s, s.Lock.NodeTimeout))
	if !s.Lock.RetryMax.IsZero() {
		m.add("retry", []string{span(s, s.Lock.RetryMin), span(s, s.Lock.RetryMax)})
	}
	m.add("tries", s.Lock.Tries)
	m.add("max-extensions", s.Lock.MaxExtensions)
	m.add("resends", s.Lock.Resends)
	return m
}

func bounds(s *scenarios.Scenario) (m mapping) {
	for _, name := range history.BoundNames {
		m.add(name, span(s, s.Bounds[name]))
	}
	return m
}

// script writes the steps and the waits between them, without defaults.
func script(s *scenarios.Scenario) (all []mapping) {
	for _, step := range s.Script {
		var m mapping
		if len(step.Targets) == 1 {
			m.add(string(step.Verb), step.Targets[0])
		} else {
			m.add(string(step.Verb), step.Targets)
		}
		m.add("wait", span(s, step.Wait))
		m.add("async", step.Async)
		m.add("if-held", step.IfHeld)
		m.add("of", step.Of)
		m.add("part", string(step.Part))
		if step.Direction != history.Both {
			m.add("direction", string(step.Direction))
		}
		m.add("rate", step.Rate)
		for _, each := range []struct {
			name  string
			value scenarios.Span
		}{{"by", step.By}, {"jump", step.Jump}, {"within", step.Within}, {"for", step.For}, {"after", step.After}} {
			m.add(each.name, span(s, each.value))
		}
		all = append(all, m)
	}
	return all
}

// span writes a duration, in TTLs if it is a multiple of TTL/timeSteps; "" for 0.
func span(s *scenarios.Scenario, in scenarios.Span) string {
	d := in.In(s.TTL)
	if d == 0 {
		return ""
	}
	if thousandth := s.TTL / timeSteps; d%thousandth == 0 {
		return scenarios.Span{TTLs: float64(d/thousandth) / timeSteps}.String()
	}
	return d.String()
}
