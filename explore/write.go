package explore

import (
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// About has the fields of a scenario file that do not come from its schedule.
type About struct {
	Name, Title, Source, Lesson string
	Lock                        string // "": the reference
	// Expect has the expected verdicts of a correct lock, by property.
	Expect map[string]string
	// Without are the rules that were off, and Property is the property that was then violated.
	Without  []string
	Property string
}

// Text writes a schedule as a scenario file, below comment lines.
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

// lock writes the drawn options, and the name unless it is the reference's.
func (s *Schedule) lock(name string) (m mapping) {
	m.add("name", name)
	m.add("node-timeout", s.span(s.Lock.NodeTimeout.Fixed))
	if !s.Lock.RetryMax.IsZero() {
		m.add("retry", []string{s.span(s.Lock.RetryMin.Fixed), s.span(s.Lock.RetryMax.Fixed)})
	}
	m.add("tries", s.Lock.Tries)
	m.add("max-extensions", s.Lock.MaxExtensions)
	m.add("resends", s.Lock.Resends)
	return m
}

// boundTexts writes the bounds that are not the default.
func (s *Schedule) boundTexts() (m mapping) {
	for _, name := range history.BoundNames {
		m.add(name, s.span(s.bounds()[name].In(s.TTL)))
	}
	return m
}

// script writes the steps and the waits between them, without defaults.
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

// span writes a duration, in TTLs if it is a multiple of TTL/timeSteps; "" for 0.
func (s *Schedule) span(d time.Duration) string {
	if d == 0 {
		return ""
	}
	if thousandth := s.TTL / timeSteps; d%thousandth == 0 {
		return scenarios.Span{TTLs: float64(d/thousandth) / timeSteps}.String()
	}
	return d.String()
}
