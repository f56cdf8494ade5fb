package exercise

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/redlock"
)

// Level is one step on the way to the whole lock: what the levels before it are about is
// there already, and what those after it are about is given.
type Level struct {
	Name, Title string
	Text        string // what is to be decided, and why it is not obvious
	Questions   []Question
	// Cases are the scenarios of the catalogue that are tried first.
	Cases []string
}

// Question is one decision.
type Question struct {
	Name, Label string
	Options     []Option
	// Formula says what may be typed where the decision is a short expression; nil: it is a
	// choice of the options.
	Formula *Formula
}

// Option is one way to decide.
type Option struct {
	Value, Label string
	Off          []redlock.Rule // the rules that the lock then does without
}

// Formula is a short expression over some names; each option is one, too.
type Formula struct {
	Hint    string // what the names stand for
	Samples []map[string]float64
	Whole   bool // a division drops what is left over
	// More says what is wrong with one that is never less than the right one, which is the
	// first option; "": nothing is known of such.
	More string
	// Less says that what is never more than the right one, and not nothing, is right, too.
	Less bool
}

// Levels lists the levels in their order.
func Levels() []Level { return slices.Clone(levels) }

// Find gives the level of that name, and its place.
func Find(name string) (l Level, place int, found bool) {
	i := slices.IndexFunc(levels, func(l Level) bool { return l.Name == name })
	if i < 0 {
		return Level{}, 0, false
	}
	return levels[i], i, true
}

// Lock gives the rules that a lock built so does without. The error says which decision is
// missing, or what is wrong with an expression.
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

// Decide finds the option that an answer is.
func (q Question) Decide(answer string) (Option, error) {
	if answer == "" {
		return Option{}, errors.New("decide it first")
	}
	if q.Formula != nil {
		return q.Formula.match(answer, q.Options)
	}
	i := slices.IndexFunc(q.Options, func(o Option) bool { return o.Value == answer })
	if i < 0 {
		return Option{}, fmt.Errorf("there is no %q", answer)
	}
	return q.Options[i], nil
}

// Consequence says what an answer comes to with so many servers, "" where it is the same with all.
func (q Question) Consequence(answer string, servers int) string {
	if q.Formula == nil || !q.Formula.Whole {
		return ""
	}
	enough, err := evaluate(answer, true, map[string]float64{"n": float64(servers)})
	if err != nil {
		return ""
	}
	return fmt.Sprintf(", content with %v of %d", enough, servers)
}

// match finds the option that gives what the answer gives, whatever the names stand for.
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
	return Option{}, fmt.Errorf("the bench cannot build this lock. With %s it gives %v: would you rely on that?",
		f.sampleText(), mine[len(mine)-1])
}

// tolerance is what floating point may make of one value.
const tolerance = 1e-9

// values are those of an expression for each sample.
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

// sampleText is the last sample in words, which shows what a formula gives without the answer.
func (f *Formula) sampleText() string {
	var all []string
	for name, value := range f.Samples[len(f.Samples)-1] {
		all = append(all, fmt.Sprintf("%s = %v", name, value))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
