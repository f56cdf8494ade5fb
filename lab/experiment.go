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
	Numbers    []*Number
	Choices    []*Choice
	Seed       uint64 // of the trial, from 1 to MostSeed
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

// Number is a control that is turned.
type Number struct {
	Name, Label, Unit  string
	Value, Least, Most float64
	Step, Initial      float64 // Initial is what the catalogue has
	// Predictable is the value from which on the page promises that nothing goes wrong,
	// whatever the moment of the fault and the clocks; 0: none is known.
	Predictable float64

	set func(*scenarios.Scenario, float64)
}

// Choice is a control with a few positions.
type Choice struct {
	Name, Label string
	Options     []Option
	Value       string
	Initial     string // what the catalogue has

	set func(*scenarios.Scenario, string)
}

// Option is one position of a choice.
type Option struct{ Value, Label string }

// Changed says whether the control stands elsewhere than in the catalogue.
func (n *Number) Changed() bool { return n.Value != n.Initial }

// Changed says whether the control stands elsewhere than in the catalogue.
func (c *Choice) Changed() bool { return c.Value != c.Initial }

// Text is the number's value as a form has it.
func (n *Number) Text() string { return Text(n.Value) }

// Text writes a number without the digits that only floating point put there.
func Text(x float64) string { return strconv.FormatFloat(math.Round(x*1e6)/1e6, 'f', -1, 64) }

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
	e.Numbers = numbers(e.base, kind)
	e.Choices = e.choices(kind)
	if kind.Rules && len(e.without) == 0 {
		choice, err := e.lockChoice()
		if err != nil {
			return nil, err
		}
		if choice != nil {
			e.Choices = append([]*Choice{choice}, e.Choices...)
		}
	}
	for _, n := range e.Numbers {
		n.Initial = n.Value
	}
	for _, c := range e.Choices {
		c.Initial = c.Value
	}
	return e, nil
}

// Read sets the controls that a form names. The error says what is out of
// bounds; the form then has no effect.
func (e *Experiment) Read(form url.Values) error {
	values := map[*Number]float64{}
	for _, n := range e.Numbers {
		if !form.Has(n.Name) {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(form.Get(n.Name)), 64)
		if err != nil || !(x >= n.Least && x <= n.Most) {
			return fmt.Errorf("%s: %q is not a number from %s to %s", n.Label, form.Get(n.Name), Text(n.Least), Text(n.Most))
		}
		values[n] = x
	}
	for _, c := range e.Choices {
		value := form.Get(c.Name)
		if form.Has(c.Name) && !slices.ContainsFunc(c.Options, func(o Option) bool { return o.Value == value }) {
			return fmt.Errorf("%s: there is no %q", c.Label, value)
		}
	}
	if form.Has("seed") {
		seed, err := strconv.ParseUint(strings.TrimSpace(form.Get("seed")), 10, 64)
		if err != nil || seed < 1 || seed > MostSeed {
			return fmt.Errorf("the seed %q is not a whole number from 1 to %d", form.Get("seed"), MostSeed)
		}
		e.Seed = seed
	}
	if form.Get(LockControl) != "" && form.Get(RuleControl) != "" {
		return fmt.Errorf("%s has no rules to switch off: they are the reference's", form.Get(LockControl))
	}
	for n, x := range values {
		n.Value = x
	}
	for _, c := range e.Choices {
		if form.Has(c.Name) {
			c.Value = form.Get(c.Name)
		}
	}
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
	for _, n := range e.Numbers {
		if n.Changed() {
			q.Set(n.Name, n.Text())
		}
	}
	for _, c := range e.Choices {
		if c.Changed() {
			q.Set(c.Name, c.Value)
		}
	}
	if e.Seed != 1 {
		q.Set("seed", strconv.FormatUint(e.Seed, 10))
	}
	return q
}

// Number finds a control, nil if there is none of that name.
func (e *Experiment) Number(name string) *Number {
	for _, n := range e.Numbers {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Changed says whether any control stands elsewhere than in the catalogue.
func (e *Experiment) Changed() bool {
	return len(e.Added) > 0 || slices.ContainsFunc(e.Numbers, (*Number).Changed) ||
		slices.ContainsFunc(e.Choices, (*Choice).Changed)
}

// Scenario is the scenario with every control as it stands.
func (e *Experiment) Scenario() *scenarios.Scenario {
	s := *e.base
	s.Script = slices.Clone(s.Script)
	s.Clients = slices.Clone(s.Clients)
	s.Nemesis = slices.Clone(s.Nemesis)
	s.Variants = nil
	// The first number may add a step, which moves those after it.
	for _, n := range slices.Backward(e.Numbers) {
		if n.Changed() {
			n.set(&s, n.Value)
		}
	}
	for _, c := range e.Choices {
		if c.Changed() && c.set != nil {
			c.set(&s, c.Value)
		}
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

// choice is the position of a choice, "" where there is none of that name.
func (e *Experiment) choice(name string) string {
	for _, c := range e.Choices {
		if c.Name == name {
			return c.Value
		}
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

// others are the locks that are not ours and that the lab runs.
var others = []string{"redsync"}

// lockChoice puts another lock in the place of the reference, nil where none fits.
func (e *Experiment) lockChoice() (*Choice, error) {
	c := &Choice{Name: LockControl, Label: "Lock", Options: []Option{{"", locks.Reference + " (the reference)"}}}
	for _, name := range others {
		p, err := suite.Options{Cluster: suite.Virtual}.Plan(suite.Job{Scenario: e.base, Lock: name})
		if err != nil {
			return nil, err
		}
		if p.Skip() == "" {
			c.Options = append(c.Options, Option{name, name})
		}
	}
	if len(c.Options) == 1 {
		return nil, nil
	}
	return c, nil
}

// ruleChoice switches one rule of the reference off. A variant that does
// without one rule begins with that position. A guard that the lock has not cannot be
// switched off.
func (e *Experiment) ruleChoice(kind locks.Kind) *Choice {
	c := &Choice{Name: RuleControl, Label: "Rule switched off", Options: []Option{{"", "none"}}}
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
