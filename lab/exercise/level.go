package exercise

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/redlock"
)

// Level is one step towards the whole lock. The other levels' rules are in force.
type Level struct {
	Name, Title string
	Text        string // the decision, and why it is not obvious
	Questions   []Question
	// Cases are the scenarios of the catalogue that run first.
	Cases []string
}

type Question struct {
	Name, Label string
	Options     []Option
	// Formula describes the expression to type; nil: the learner chooses an option.
	Formula *Formula
}

type Option struct {
	Value, Label string
	Off          []redlock.Rule // the rules that the lock then lacks
}

// Formula is a short expression over some names; each option is one.
type Formula struct {
	Hint    string // the meaning of the names
	Samples []map[string]float64
	Whole   bool // divisions round down
	// More explains the mistake of a formula that is never less than the right one, the first option; "": no explanation.
	More string
	// Less accepts a positive formula that is never more than the right one.
	Less bool
}

// Levels lists the levels in order.
func Levels() []Level { return slices.Clone(levels) }

// Find finds a level by its name, and returns its index.
func Find(name string) (l Level, place int, found bool) {
	i := slices.IndexFunc(levels, func(l Level) bool { return l.Name == name })
	if i < 0 {
		return Level{}, 0, false
	}
	return levels[i], i, true
}

// Lock returns the rules that a lock with these decisions lacks. The error names a missing decision or a bad
// expression.
func (l Level) Lock(decided func(question string) string) (without []string, err error) {
	for _, q := range l.Questions {
		o, err := q.Decide(strings.TrimSpace(decided(q.Name)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.Label, err)
		}
		for _, r := range o.Off {
			without = append(without, string(r))
		}
	}
	return without, nil
}

// Decide finds the option of an answer.
func (q Question) Decide(answer string) (Option, error) {
	if answer == "" {
		return Option{}, errors.New("choose an answer")
	}
	if q.Formula != nil {
		return q.Formula.match(answer, q.Options)
	}
	i := slices.IndexFunc(q.Options, func(o Option) bool { return o.Value == answer })
	if i < 0 {
		return Option{}, fmt.Errorf("unknown answer %q", answer)
	}
	return q.Options[i], nil
}

// Consequence describes the result of a quorum formula for a number of servers; "" for other questions.
func (q Question) Consequence(answer string, servers int) string {
	if q.Formula == nil || !q.Formula.Whole {
		return ""
	}
	enough, err := evaluate(answer, true, map[string]float64{"n": float64(servers)})
	if err != nil {
		return ""
	}
	return fmt.Sprintf(": %v of %d servers are enough", enough, servers)
}

// match finds the option with the same values as the answer for all samples.
func (f *Formula) match(answer string, options []Option) (Option, error) {
	mine, err := f.values(answer)
	if err != nil {
		return Option{}, err
	}
	for i, o := range options {
		theirs, err := f.values(o.Value)
		if err != nil {
			return Option{}, err
		}
		less, more := false, false
		for i := range mine {
			less, more = less || mine[i] < theirs[i]-tolerance, more || mine[i] > theirs[i]+tolerance
		}
		switch {
		case !less && !more:
			return o, nil
		case i > 0:
		case !more && f.Less && slices.Min(mine) > 0:
			return o, nil
		case !less && f.More != "":
			return Option{}, errors.New(f.More)
		}
	}
	return Option{}, fmt.Errorf("no lock with this formula can be tested. With %s it gives %v: would you rely on that?",
		f.sampleText(), mine[len(mine)-1])
}

// tolerance bounds the floating-point error of one value.
const tolerance = 1e-9

// values evaluates an expression for each sample.
func (f *Formula) values(text string) (all []float64, err error) {
	for _, sample := range f.Samples {
		x, err := evaluate(text, f.Whole, sample)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// sampleText formats the last sample; it shows a formula's value without the answer.
func (f *Formula) sampleText() string {
	var all []string
	for name, value := range f.Samples[len(f.Samples)-1] {
		all = append(all, fmt.Sprintf("%s = %v", name, value))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
