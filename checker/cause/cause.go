package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/internal/wording"
)

// Cause is the result of the experiments on one violation.
type Cause struct {
	Property string `json:"property"`
	// Necessary are the faults, or the steps if no fault is needed, without any one of which the property is not
	// violated: "the pause of c1".
	Necessary []string `json:"necessary,omitempty"`
	// Replaceable are further faults of the smallest set that was found; another fault can take the place of each.
	Replaceable []string `json:"replaceable,omitempty"`
	// Kinds are the kinds of those faults, each once and sorted: "pause".
	Kinds []string `json:"kinds,omitempty"`
	// Rules are the lock's rules that were off; with any one of them on, the property is not violated.
	Rules []string `json:"rules,omitempty"`
	// PointOfNoReturn is the last time, in nanoseconds of the run, at which ending the faults averts the violation;
	// nil: not known, or there is no such time.
	PointOfNoReturn *int64 `json:"point_of_no_return,omitempty"`
	// Experiments are the changes that were tried, each on all seeds.
	Experiments []Experiment `json:"experiments,omitempty"`
	// Violated of Seeds runs without any change violate the property. A cause is named only if all do: a change that
	// averts what also goes away by itself shows nothing.
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
	// Unknown is the number of seeds in which the trial failed, its script stopped early, or the verdict is not known.
	Unknown int `json:"unknown,omitempty"`
	// Rest: all other faults than those of the cause were left out, and the property is still violated.
	Rest bool `json:"rest,omitempty"`
	// Option: the change is a setting of the client library.
	Option bool `json:"option,omitempty"`
}

// String is the experiment in words: "without the pause of c1: holds, 5 of 5 seeds".
func (e Experiment) String() string {
	switch {
	case e.Unknown > 0:
		return fmt.Sprintf("%s: not known, %d of %s", e.Change, e.Unknown, seeds(e.Seeds))
	case e.Averts == 0:
		return fmt.Sprintf("%s: still violated, %d of %s", e.Change, e.Seeds, seeds(e.Seeds))
	case e.Holds:
		return fmt.Sprintf("%s: holds, %d of %s", e.Change, e.Averts, seeds(e.Seeds))
	}
	return fmt.Sprintf("%s: not violated, %d of %s", e.Change, e.Averts, seeds(e.Seeds))
}

func (e Experiment) averts() bool   { return e.Averts == e.Seeds }
func (e Experiment) violates() bool { return e.Averts+e.Unknown == 0 }

func seeds(n int) string {
	if n == 1 {
		return "1 seed"
	}
	return fmt.Sprintf("%d seeds", n)
}

// Found reports whether a cause is named.
func (c *Cause) Found() bool { return c != nil && c.NotFound == "" }

// ID is equal for causes of one kind: necessary faults of the same kinds, or the same steps, and the same rules.
func (c *Cause) ID() string {
	what := c.Kinds
	if len(what) == 0 {
		what = c.Necessary
	}
	return strings.Join(slices.Concat(what, c.Rules), ", ")
}

// Sentence is the cause in one sentence, with the experiments that show it.
func (c *Cause) Sentence() string {
	sentence := "cause not shown: " + c.NotFound
	if c.Found() {
		sentence = "cause: " + c.what()
	}
	if c.PointOfNoReturn != nil {
		sentence += fmt.Sprintf("; point of no return: %.3f s", time.Duration(*c.PointOfNoReturn).Seconds())
	}
	for _, e := range c.Experiments {
		if e.Option {
			sentence += "; " + e.String()
		}
	}
	if c.Virtual {
		sentence += " [the same schedule in virtual time]"
	}
	return sentence
}

// what names the cause, with the experiments that show it in brackets.
func (c *Cause) what() string {
	var what []string
	if len(c.Necessary) > 0 {
		what = append(what, wording.List(c.Necessary))
	}
	if len(c.Replaceable) > 0 {
		what = append(what, wording.List(c.Replaceable)+" or another fault")
	}
	switch len(c.Rules) {
	case 0:
	case 1:
		what = append(what, "the rule "+c.Rules[0]+", which is off")
	default:
		what = append(what, "the rules "+wording.List(c.Rules)+", which are off")
	}
	text := strings.Join(what, ", with ")
	if shown := c.shown(); len(shown) > 0 {
		text += " (" + strings.Join(shown, "; ") + ")"
	}
	return text
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
	case alike && len(c.Rules)+len(c.Replaceable) == 0:
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
	if rest != "" {
		shown = append(shown, rest)
	}
	return shown
}
