package cause

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/history"
)

// change is an experiment under way: its variation, and the part that it leaves out or the rule that it has on.
type change struct {
	Experiment
	variation Variation
	part      *part
	rule      string
}

// changes are the experiments on a cause: without each needed part, with each rule, with other settings of the client
// library, and without the faults that are not needed.
func (f *Finder) changes(whole Variation, needed []part, rules []string) (all []change) {
	add := func(c change, vary func(*Variation)) {
		c.variation, c.Holds = whole, true
		vary(&c.variation)
		all = append(all, c)
	}
	for i, p := range needed {
		add(change{Experiment: Experiment{Change: "without " + p.name}, part: &needed[i]},
			func(v *Variation) { v.Scenario = without(v.Scenario, []part{p}) })
	}
	for _, rule := range rules {
		add(change{Experiment: Experiment{Change: "with " + rule + " on"}, rule: rule},
			func(v *Variation) { *v = f.with(*v, rule) })
	}
	option := func(what string, vary func(*Variation)) {
		add(change{Experiment: Experiment{Change: "with " + what, Option: true}}, vary)
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
	if others := others(faults(whole.Scenario), needed); len(others) > 0 && len(kinds(needed)) > 0 {
		add(change{Experiment: Experiment{Change: "without the rest of the schedule", Rest: true}},
			func(v *Variation) { v.Scenario = without(v.Scenario, others) })
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
			all[i].add(f.try(ctx, all[i].variation, seed).Verdict)
		}
	}
	c.conclude(all)
}

func (e *Experiment) add(verdict string) {
	e.Seeds++
	if verdict != history.Violated {
		e.Averts++
	}
	e.Holds = e.Holds && verdict != history.Inconclusive && verdict != ""
}

// conclude keeps the experiments that show something. They show the cause: the parts without which, and the rules with
// which, no seed is violated.
func (c *Cause) conclude(all []change) {
	shown, fails := 0, false
	var always []part
	for _, e := range all {
		averts := e.Averts == e.Seeds
		switch {
		case e.Option && !averts, e.Rest && averts:
			continue
		case e.part != nil && averts:
			always = append(always, *e.part)
		case e.rule != "" && averts:
			c.Rules = append(c.Rules, e.rule)
		}
		if !e.Option && !e.Rest {
			shown, fails = shown+1, fails || !averts
		}
		c.Experiments = append(c.Experiments, e.Experiment)
	}
	c.Necessary, c.Kinds = namesOf(always), kinds(always)
	switch {
	case len(always)+len(c.Rules) > 0:
	case fails && c.Violated == c.Seeds:
		c.NotFound = fmt.Sprintf("another seed does not need what this one needs (violated in %s)", seeds(c.Seeds))
	case fails || shown == 0 && c.Violated < c.Seeds:
		c.NotFound = fmt.Sprintf("holds or not by chance (violated in %d of %s)", c.Violated, seeds(c.Seeds))
	case shown == 0:
		c.NotFound = fmt.Sprintf("no fault and no single step is needed for it (violated in %d of %s)", c.Violated,
			seeds(c.Seeds))
	}
	if c.NotFound != "" {
		c.Necessary, c.Rules = nil, nil
	}
}

// others returns the parts that are not needed.
func others(parts, needed []part) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return slices.ContainsFunc(needed, func(n part) bool { return n.name == p.name })
	})
}

// precision is the error of the point of no return.
const precision = int64(time.Millisecond)

// bisect finds the last time at which ending all faults averts the violation.
func (f *Finder) bisect(ctx context.Context, c *Cause, whole Variation, needed []part, violated int64) {
	v := whole
	v.Scenario = without(whole.Scenario, others(faults(whole.Scenario), needed))
	if f.try(ctx, v, f.Seed).Verdict != history.Violated {
		v = whole // by chance it needs the others, too
	}
	averted := func(t int64) bool {
		v.FaultsUntil = time.Duration(max(t, 1))
		return f.try(ctx, v, f.Seed).Verdict != history.Violated
	}
	low, high := int64(0), violated
	if !averted(low) || averted(high) {
		return // the background, or something under way, decides it
	}
	for high-low > precision {
		if f.spent() {
			return
		}
		if middle := low + (high-low)/2; averted(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	c.PointOfNoReturn = &low
}
