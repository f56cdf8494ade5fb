package lab

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/redlock"
	"example.org/lockproof/scenarios"
)

// Experiment is a scenario or a variant with controls.
type Experiment struct {
	Catalogued *scenarios.Scenario // from the catalogue
	Variant    string
	Controls   []*Control // numbers first
	Seed       uint64     // from 1 to MostSeed
	// Added are the faults that a reader added to the script, File is the scenario's file with them; see Add.
	Added []string
	File  string
	// Properties are the scenario's properties, which a reader predicts.
	Properties []string

	base    *scenarios.Scenario // with the variant
	without []string            // rules that are always off
}

// MostSeed is the largest seed of an experiment. The catalogue begins with seed 1.
const MostSeed = 1_000_000

// Control is a number between bounds or a choice of options that a reader sets.
type Control struct {
	Name, Label    string
	Value, Initial string   // as in a form; Initial is the catalogue's value
	Options        []Option // nil: a number

	Unit              string
	Least, Most, Step float64
	// Predictable is the value from which the page promises no violation, whatever the moment of the fault and the
	// clocks; 0: unknown.
	Predictable float64

	setNumber func(*scenarios.Scenario, float64) // for a number
	setOption func(*scenarios.Scenario, string)  // for options; nil if they do not change the scenario
}

// Option is one option of a control.
type Option struct{ Value, Label string }

// Changed reports whether the control differs from the catalogue.
func (c *Control) Changed() bool { return c.Value != c.Initial }

// Number is a numeric control's value.
func (c *Control) Number() float64 {
	x, _ := strconv.ParseFloat(c.Value, 64) // Text wrote it
	return x
}

// read checks a form's value and returns it in canonical form.
func (c *Control) read(text string) (value string, err error) {
	if c.Options != nil {
		if !slices.ContainsFunc(c.Options, func(o Option) bool { return o.Value == text }) {
			return "", fmt.Errorf("%s: there is no %q", c.Label, text)
		}
		return text, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(x >= c.Least && x <= c.Most) {
		return "", fmt.Errorf("%s: %q is not a number from %s to %s", c.Label, text, Text(c.Least), Text(c.Most))
	}
	return Text(x), nil
}

// apply sets the control's value in a scenario.
func (c *Control) apply(s *scenarios.Scenario) {
	switch {
	case !c.Changed():
	case c.setNumber != nil:
		c.setNumber(s, c.Number())
	case c.setOption != nil:
		c.setOption(s, c.Value)
	}
}

// Text formats a number without floating-point noise.
func Text(x float64) string { return strconv.FormatFloat(round(x), 'f', -1, 64) }

func round(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// New makes an experiment on a variant of a scenario, or on the scenario itself for "". Its controls have the
// catalogue's values.
func New(s *scenarios.Scenario, variant string) (*Experiment, error) {
	v, err := s.Find(variant)
	if err != nil {
		return nil, err
	}
	e := &Experiment{Catalogued: s, Variant: variant, Seed: 1, base: s.With(v), without: v.Without}
	if e.base.Lock.Name == "" {
		e.base.Lock.Name = locks.Reference
	}
	kind, err := locks.Find(e.base.Lock.Name)
	if err != nil {
		return nil, err
	}
	for _, p := range checker.Names() {
		named := s.Expect[p] != "" ||
			slices.ContainsFunc(s.Variants, func(v scenarios.Variant) bool { return v.Expect[p] != "" })
		if named {
			e.Properties = append(e.Properties, p)
		}
	}
	e.Controls = append(numbers(e.base, kind), e.choices(kind)...)
	for _, c := range e.Controls {
		c.Initial = c.Value
	}
	return e, nil
}

// Read sets the controls from a form. After an error the form has no effect.
func (e *Experiment) Read(form url.Values) error {
	values, seed := map[*Control]string{}, e.Seed
	for _, c := range e.Controls {
		if form.Has(c.Name) {
			var err error
			if values[c], err = c.read(form.Get(c.Name)); err != nil {
				return err
			}
		}
	}
	if form.Has("seed") {
		var err error
		seed, err = strconv.ParseUint(strings.TrimSpace(form.Get("seed")), 10, 64)
		if err != nil || seed < 1 || seed > MostSeed {
			return fmt.Errorf("the seed %q is not a whole number from 1 to %d", form.Get("seed"), MostSeed)
		}
	}
	if form.Get(LockControl) != "" && form.Get(RuleControl) != "" {
		return fmt.Errorf("%s has no rules to switch off: they are the reference's", form.Get(LockControl))
	}
	for c, value := range values {
		c.Value = value
	}
	e.Seed = seed
	return nil
}

// Query is the experiment's query for a link: the variant and everything that differs from the catalogue.
func (e *Experiment) Query() url.Values {
	q := url.Values{}
	if e.Variant != "" {
		q.Set("variant", e.Variant)
	}
	if len(e.Added) > 0 {
		q[FaultControl] = e.Added
	}
	for _, c := range e.Controls {
		if c.Changed() {
			q.Set(c.Name, c.Value)
		}
	}
	if e.Seed != 1 {
		q.Set("seed", strconv.FormatUint(e.Seed, 10))
	}
	return q
}

// Number finds a numeric control, nil if there is none.
func (e *Experiment) Number(name string) *Control {
	if c := e.control(name); c != nil && c.Options == nil {
		return c
	}
	return nil
}

func (e *Experiment) control(name string) *Control {
	i := slices.IndexFunc(e.Controls, func(c *Control) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return e.Controls[i]
}

// Changed reports whether any control differs from the catalogue.
func (e *Experiment) Changed() bool {
	return len(e.Added) > 0 || slices.ContainsFunc(e.Controls, (*Control).Changed)
}

// Scenario is the scenario with the controls' values.
func (e *Experiment) Scenario() *scenarios.Scenario {
	s := *e.base
	s.Script = slices.Clone(s.Script)
	s.Clients = slices.Clone(s.Clients)
	s.Nemesis = slices.Clone(s.Nemesis)
	s.Variants = nil
	// The first control may insert a step before others.
	for _, c := range slices.Backward(e.Controls) {
		c.apply(&s)
	}
	return &s
}

// Without lists the rules that are switched off.
func (e *Experiment) Without() []string {
	rules := slices.Clone(e.without)
	if rule := e.choice(RuleControl); rule != "" {
		rules = append(rules, rule)
	}
	return rules
}

// job is the experiment as a row of a suite. An unchanged experiment is the catalogue's own row, so that its history is
// that of lockproof run.
func (e *Experiment) job() suite.Job {
	if !e.Changed() {
		return suite.Job{Scenario: e.Catalogued, Variant: e.Variant}
	}
	lock := e.choice(LockControl)
	return suite.Job{Scenario: e.Scenario(), Without: e.Without(), Lock: lock, AllowBetter: lock != ""}
}

// choice is a control's value, "" if there is no such control.
func (e *Experiment) choice(name string) string {
	if c := e.control(name); c != nil {
		return c.Value
	}
	return ""
}

// The names of controls of every scenario with the reference.
const (
	RuleControl = "rule"
	LockControl = "lock"
	// FaultControl is for scenarios with a script: each value is an added fault.
	FaultControl = "fault"
)

// otherLock is the only lock in the lab that is not ours.
const otherLock = "redsync"

// lockChoice replaces the reference by another lock, nil if that lock cannot run the scenario.
func (e *Experiment) lockChoice() *Control {
	p, err := suite.Options{Cluster: suite.Virtual}.Plan(suite.Job{Scenario: e.base, Lock: otherLock})
	if err != nil || p.Skip() != "" {
		return nil
	}
	return &Control{Name: LockControl, Label: "Lock",
		Options: []Option{{"", locks.Reference + " (the reference)"}, {otherLock, otherLock}}}
}

// ruleChoice switches one rule of the reference off. For a variant without one rule, that is the initial option. It
// omits the restart guard if the lock has none.
func (e *Experiment) ruleChoice(kind locks.Kind) *Control {
	c := &Control{Name: RuleControl, Label: "Rule switched off", Options: []Option{{"", "none"}}}
	for _, r := range redlock.Rules() {
		if r.Rule == redlock.RestartGuard && kind.WarmUp == nil {
			continue
		}
		if !slices.Contains(e.without, string(r.Rule)) || len(e.without) == 1 {
			c.Options = append(c.Options, Option{string(r.Rule), string(r.Rule)})
		}
	}
	if len(e.without) == 1 {
		c.Value, e.without = e.without[0], nil
	}
	return c
}
