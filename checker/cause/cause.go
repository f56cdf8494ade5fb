package cause

import (
	"fmt"
	"strings"
	"time"

	"example.org/lockproof/internal/wording"
)

// Cause is the result of the experiments on one violation.
type Cause struct {
	Property string `json:"property"`
	// Necessary is the smallest set of faults that was found, or of steps if no fault is needed. Without any one of
	// them the property is not violated: "the pause of c1".
	Necessary []string `json:"necessary,omitempty"`
	// Kinds are the kinds of those faults, each once and sorted: "pause".
	Kinds []string `json:"kinds,omitempty"`
	// Rules are the lock's rules that were off; with any one of them on, the property is not violated.
	Rules []string `json:"rules,omitempty"`
	// PointOfNoReturn is the last time, in nanoseconds of the run, at which ending the faults averts the violation;
	// nil: not known.
	PointOfNoReturn *int64 `json:"point_of_no_return,omitempty"`
	// Experiments are the changes that were tried, each on all seeds.
	Experiments []Experiment `json:"experiments,omitempty"`
	// Violated of Seeds runs without any change violate the property.
	Violated int `json:"violated"`
	Seeds    int `json:"seeds"`
	// NotFound is why no cause is named; "": one is.
	NotFound string `json:"not_found,omitempty"`
	// Virtual: the run was on real servers, and the cause is that of the same schedule in
	// virtual time.
	Virtual bool `json:"virtual,omitempty"`
}

// Experiment is one change, with the number of seeds without a violation.
type Experiment struct {
	Change string `json:"change"` // "without the pause of c1"
	Averts int    `json:"averts"` // the number of seeds in which the property is not violated
	Seeds  int    `json:"seeds"`
	// Holds: in each seed without a violation the property was tested, and holds.
	Holds bool `json:"holds,omitempty"`
	// Rest: all faults that are not necessary were left out, and the property is still violated in some seeds, at
	// least.
	Rest bool `json:"rest,omitempty"`
	// Option: the change is a setting of the client library.
	Option bool `json:"option,omitempty"`
}

// String is the experiment in words: "without the pause of c1: holds, 5 of 5 seeds".
func (e Experiment) String() string {
	switch {
	case e.Averts == 0:
		return fmt.Sprintf("%s: still violated, %d of %s", e.Change, e.Seeds, seeds(e.Seeds))
	case e.Holds:
		return fmt.Sprintf("%s: holds, %d of %s", e.Change, e.Averts, seeds(e.Seeds))
	}
	return fmt.Sprintf("%s: not violated, %d of %s", e.Change, e.Averts, seeds(e.Seeds))
}

func seeds(n int) string {
	if n == 1 {
		return "1 seed"
	}
	return fmt.Sprintf("%d seeds", n)
}

// Found reports whether a cause is named.
func (c *Cause) Found() bool { return c != nil && c.NotFound == "" }

// ID identifies a cause by the kinds of the necessary faults; without any, by whether a cause was found.
func (c *Cause) ID() string {
	switch {
	case len(c.Kinds) > 0:
		return strings.Join(c.Kinds, ", ")
	case c.NotFound != "":
		return "no cause found"
	}
	return "no fault"
}

// Sentence is the cause in one sentence, with the experiments that show it.
func (c *Cause) Sentence() string {
	if c.NotFound != "" {
		return "cause not found: " + c.NotFound + c.suffix()
	}
	var what []string
	if len(c.Necessary) > 0 {
		what = append(what, wording.List(c.Necessary))
	}
	switch len(c.Rules) {
	case 0:
	case 1:
		what = append(what, "the rule "+c.Rules[0]+", which is off")
	default:
		what = append(what, "the rules "+wording.List(c.Rules)+", which are off")
	}
	sentence := "cause: " + strings.Join(what, ", with ")
	if shown := c.shown(); len(shown) > 0 {
		sentence += " (" + strings.Join(shown, "; ") + ")"
	}
	if c.PointOfNoReturn != nil {
		sentence += fmt.Sprintf("; point of no return: %.3f s", time.Duration(*c.PointOfNoReturn).Seconds())
	}
	for _, e := range c.Experiments {
		if e.Option && e.Averts == e.Seeds {
			sentence += "; " + e.String()
		}
	}
	return sentence + c.suffix()
}

// shown are the experiments that a sentence has in brackets. Experiments with equal results are merged.
func (c *Cause) shown() []string {
	var shown []string
	var without []Experiment
	rest := ""
	for _, e := range c.Experiments {
		switch {
		case e.Option:
		case e.Rest:
			rest = "the rest of the schedule can be left out"
		default:
			without = append(without, e)
		}
	}
	alike := len(without) > 0
	for _, e := range without {
		alike = alike && e.Averts == without[0].Averts && e.Seeds == without[0].Seeds && e.Holds == without[0].Holds
	}
	switch {
	case alike && len(c.Rules) == 0:
		one := without[0]
		one.Change = "without it"
		if len(without) > 1 {
			one.Change = "without any of them"
		}
		shown = append(shown, one.String())
	default:
		for _, e := range without {
			shown = append(shown, e.String())
		}
	}
	if c.Violated < c.Seeds {
		shown = append(shown, fmt.Sprintf("with it violated, %d of %s", c.Violated, seeds(c.Seeds)))
	}
	if rest != "" {
		shown = append(shown, rest)
	}
	return shown
}

func (c *Cause) suffix() string {
	if c.Virtual {
		return " [the same schedule in virtual time]"
	}
	return ""
}
