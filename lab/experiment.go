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

// Experiment is a scenario, as it stands or as a variant, with controls.
type Experiment struct {
	Catalogued *scenarios.Scenario // as the catalogue has it
	Variant    string
	Controls   []*Control // the numbers first
	Seed       uint64     // of the trial, from 1 to MostSeed
	// Added are the faults that a reader has put into the script, and File is its file with them; see Add.
	Added []string
	File  string
	// Properties are those that the scenario is about, which a reader predicts.
	Properties []string

	base    *scenarios.Scenario // with the variant
	without []string            // rules that are off however the controls stand
}

// MostSeed is the largest seed of an experiment. The first is that with which the
// catalogue begins.
const MostSeed = 1_000_000

// Control is what a reader turns: a number between bounds, or one of a few options.
type Control struct {
	Name, Label    string
	Value, Initial string   // as a form has them; Initial is what the catalogue has
	Options        []Option // nil: it is a number

	Unit              string
	Least, Most, Step float64
	// Predictable is the value from which on the page promises that nothing goes wrong,
	// whatever the moment of the fault and the clocks; 0: none is known.
	Predictable float64

	turn   func(*scenarios.Scenario, float64) // of a number
	choose func(*scenarios.Scenario, string)  // of options; nil where they change no scenario
}

// Option is one position of a control.
type Option struct{ Value, Label string }

// Changed says whether the control stands elsewhere than in the catalogue.
func (c *Control) Changed() bool { return c.Value != c.Initial }

// Number is the value of a number.
func (c *Control) Number() float64 {
	x, _ := strconv.ParseFloat(c.Value, 64) // it is one that Text has written
	return x
}

// read gives the value that a form means, or says what is wrong with it.
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

// apply changes a scenario as the control stands.
func (c *Control) apply(s *scenarios.Scenario) {
	switch {
	case !c.Changed():
	case c.turn != nil:
		c.turn(s, c.Number())
	case c.choose != nil:
		c.choose(s, c.Value)
	}
}

// Text writes a number without the digits that only floating point put there.
func Text(x float64) string { return strconv.FormatFloat(round(x), 'f', -1, 64) }

func round(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// New makes the experiment on a scenario, as the variant of that name or, if it
// is "", as it stands. Its controls stand as the catalogue has them.
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

// Read sets the controls that a form names. The error says what is out of
// bounds; the form then has no effect.
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

// Query says in a link what the experiment is: what Read reads of whatever differs from
// the catalogue, and the variant.
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

// Number finds a control that is a number, nil if there is none of that name.
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

// Changed says whether any control stands elsewhere than in the catalogue.
func (e *Experiment) Changed() bool {
	return len(e.Added) > 0 || slices.ContainsFunc(e.Controls, (*Control).Changed)
}

// Scenario is the scenario with every control as it stands.
func (e *Experiment) Scenario() *scenarios.Scenario {
	s := *e.base
	s.Script = slices.Clone(s.Script)
	s.Clients = slices.Clone(s.Clients)
	s.Nemesis = slices.Clone(s.Nemesis)
	s.Variants = nil
	// The first number may add a step, which moves those after it.
	for _, c := range slices.Backward(e.Controls) {
		c.apply(&s)
	}
	return &s
}

// Without lists the rules that are off.
func (e *Experiment) Without() []string {
	rules := slices.Clone(e.without)
	if rule := e.choice(RuleControl); rule != "" {
		rules = append(rules, rule)
	}
	return rules
}

// job is the experiment as a row of a suite: the catalogue's own as long as nothing is
// changed, so that its history is that of lockproof run.
func (e *Experiment) job() suite.Job {
	if !e.Changed() {
		return suite.Job{Scenario: e.Catalogued, Variant: e.Variant}
	}
	lock := e.choice(LockControl)
	return suite.Job{Scenario: e.Scenario(), Without: e.Without(), Lock: lock, AllowBetter: lock != ""}
}

// choice is the position of a control, "" where there is none of that name.
func (e *Experiment) choice(name string) string {
	if c := e.control(name); c != nil {
		return c.Value
	}
	return ""
}

// The names of the controls that every scenario with the reference has.
const (
	RuleControl = "rule"
	LockControl = "lock"
	// FaultControl is of those that have a script: each of its values is a fault that is added.
	FaultControl = "fault"
)

// other is the lock that is not ours and that the lab runs.
const other = "redsync"

// lockChoice puts another lock in the place of the reference, nil where none fits.
func (e *Experiment) lockChoice() *Control {
	p, err := suite.Options{Cluster: suite.Virtual}.Plan(suite.Job{Scenario: e.base, Lock: other})
	if err != nil || p.Skip() != "" {
		return nil
	}
	return &Control{Name: LockControl, Label: "Lock",
		Options: []Option{{"", locks.Reference + " (the reference)"}, {other, other}}}
}

// ruleChoice switches one rule of the reference off. A variant that does
// without one rule begins with that position. A guard that the lock has not cannot be
// switched off.
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
