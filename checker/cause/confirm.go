package cause

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// change is an experiment under way: its variation, and the part that it leaves out or the rule that it has on.
type change struct {
	Experiment
	variation Variation
	part      *part
	rule      string
	spoilt    bool // a verdict is not as the scenario expects
}

// changes are the experiments on a cause: without each needed part, without all others, with each rule, and with other
// settings of the client library. A setting is advice, so the scenario's requirements stay.
func (f *Finder) changes(whole Variation, needed []part, rules []string) (all []change) {
	relaxed := relaxed(whole)
	add := func(c change, v Variation, vary func(*Variation)) {
		c.variation, c.Holds = v, true
		vary(&c.variation)
		all = append(all, c)
	}
	for i, p := range needed {
		add(change{Experiment: Experiment{Change: "without " + p.name}, part: &needed[i]}, relaxed,
			func(v *Variation) { v.Scenario = without(v.Scenario, []part{p}) })
	}
	if others := others(faults(whole.Scenario), needed); len(others) > 0 && len(needed) > 0 {
		add(change{Experiment: Experiment{Change: "without the rest of the schedule", Rest: true}}, relaxed,
			func(v *Variation) { v.Scenario = without(v.Scenario, others) })
	}
	for _, rule := range rules {
		add(change{Experiment: Experiment{Change: "with " + rule + " on"}, rule: rule}, relaxed,
			func(v *Variation) { *v = f.with(*v, rule) })
	}
	option := func(what string, vary func(*Variation)) {
		add(change{Experiment: Experiment{Change: "with " + what, Option: true}}, whole, vary)
	}
	if f.Options {
		option("ContextTimeoutEnabled: true", func(v *Variation) { v.ContextTimeouts = true })
		option("MaxRetries: -1", func(v *Variation) { v.NoRetries = true })
	}
	if whole.Scenario.Lock.Pool > 0 {
		option("a larger connection pool", func(v *Variation) {
			enough := *v.Scenario
			enough.Lock.Pool = 0
			v.Scenario = &enough
		})
	}
	return all
}

// confirm runs the experiments of a cause with all seeds, and concludes from their results.
func (f *Finder) confirm(ctx context.Context, c *Cause, whole Variation, needed []part, rules []string) {
	all := f.changes(whole, needed, rules)
	c.Violated, c.Seeds = 0, 0
	for n := range max(1, f.Seeds) {
		if n > 0 && f.spent() {
			break
		}
		seed := f.Seed + uint64(n)
		c.Seeds++
		if n == 0 || f.try(ctx, whole, seed).Verdict == history.Violated {
			c.Violated++
		}
		for i := range all {
			j := f.try(ctx, all[i].variation, seed)
			all[i].add(j.Verdict)
			all[i].spoilt = all[i].spoilt || !j.AsExpected
		}
	}
	c.conclude(all, max(1, f.Seeds))
}

func (e *Experiment) add(verdict string) {
	e.Seeds++
	e.Holds = e.Holds && verdict != history.Inconclusive && verdict != ""
	switch verdict {
	case history.Violated:
	case "":
		e.Unknown++
	default:
		e.Averts++
	}
}

// conclude keeps the experiments that show something. They show the cause: the parts without which, and the rules with
// which, no seed is violated. wanted is the number of seeds that are enough.
func (c *Cause) conclude(all []change, wanted int) {
	var always, replaceable []part
	alone := len(all) > 0
	for i, e := range all {
		named := len(always)+len(replaceable) == i // the cause has every part so far: they come first
		show := !e.Option && !e.Rest || e.Rest && e.violates() && named ||
			e.Option && !e.spoilt && e.averts() && c.Violated == wanted
		switch {
		case e.Rest:
			alone = e.violates()
		case e.part != nil && e.averts() && (e.part.kind != "" || e.Holds):
			always = append(always, *e.part)
		case e.part != nil && e.violates():
			replaceable = append(replaceable, *e.part)
		case e.rule != "" && e.averts():
			c.Rules = append(c.Rules, e.rule)
		}
		if show {
			c.Experiments = append(c.Experiments, e.Experiment)
		}
	}
	c.Kinds, c.Necessary, c.Replaceable = kinds(always), namesOf(always), namesOf(replaceable)
	c.NotFound = c.notShown(all, alone, wanted)
	if c.NotFound != "" {
		c.Kinds, c.Necessary, c.Replaceable, c.Rules = nil, nil, nil, nil
	}
}

// notShown is why the experiments show no cause. alone: the faults that were found suffice without the others.
func (c *Cause) notShown(all []change, alone bool, wanted int) string {
	violated := fmt.Sprintf("(violated in %d of %s)", c.Violated, seeds(c.Seeds))
	parts := 0
	for _, e := range all {
		if e.part != nil {
			parts++
		}
	}
	switch {
	case c.Violated < c.Seeds:
		return "it depends on the seed " + violated
	case c.Seeds < wanted:
		return "the experiments took too long " + violated
	case len(c.Necessary)+len(c.Rules) > 0:
		return ""
	case parts == 0:
		return "no fault and no single step is needed for it " + violated
	case len(c.Replaceable) == parts && alone:
		return fmt.Sprintf("no single fault is needed for it: other faults can replace %s %s",
			wording.List(c.Replaceable), violated)
	}
	return "the experiments do not agree, or some show nothing " + violated
}

// others returns the parts that are not needed.
func others(parts, needed []part) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return slices.ContainsFunc(needed, func(n part) bool { return n.name == p.name })
	})
}

const (
	// stops is the number of times at which the faults are ended, evenly spread, before the search in between.
	stops = 24
	// precision is the error of the point of no return.
	precision = int64(time.Millisecond)
)

// findPointOfNoReturn finds the last time at which ending all faults averts the violation. There is none if ending them
// at an earlier time does not help, or at a later time does: then chance decides, or something under way.
func (f *Finder) findPointOfNoReturn(ctx context.Context, c *Cause, whole Variation, violated int64) {
	v := relaxed(whole)
	try := func(t int64) string {
		if v.FaultsUntil = time.Duration(max(t, 1)); f.late() {
			return ""
		}
		return f.try(ctx, v, f.Seed).Verdict
	}
	low, high := int64(-1), int64(-1)
	for i := range int64(stops + 1) {
		t := violated * i / stops
		switch verdict := try(t); {
		case verdict == "", verdict != history.Violated && high >= 0:
			return
		case verdict != history.Violated:
			low = t
		case high < 0:
			high = t
		}
	}
	if low < 0 || high < 0 {
		return
	}
	for high-low > precision {
		middle := low + (high-low)/2
		switch try(middle) {
		case "":
			return
		case history.Violated:
			high = middle
		default:
			low = middle
		}
	}
	c.PointOfNoReturn = &low
}
