package cause

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/history"
)

// confirm makes the experiments of a cause with all seeds, and says so if they show none.
func (f *Finder) confirm(ctx context.Context, c *Cause, whole Variation, needed []part, rules []string) {
	experiments := []Experiment{}
	var variations []Variation
	add := func(e Experiment, v Variation) {
		experiments, variations = append(experiments, e), append(variations, v)
	}
	for _, p := range needed {
		v := whole
		v.Scenario = without(whole.Scenario, []part{p})
		add(Experiment{Change: "without " + p.words}, v)
	}
	for _, rule := range rules {
		add(Experiment{Change: "with " + rule + " on"}, f.with(whole, rule))
	}
	if f.Options {
		v := whole
		v.ContextTimeouts = true
		add(Experiment{Change: "with ContextTimeoutEnabled: true", Option: true}, v)
		v = whole
		v.NoRetries = true
		add(Experiment{Change: "with MaxRetries: -1", Option: true}, v)
	}
	if whole.Scenario.Lock.Pool > 0 {
		v := whole
		enough := *whole.Scenario
		enough.Lock.Pool = 0
		v.Scenario = &enough
		add(Experiment{Change: "with a larger connection pool", Option: true}, v)
	}
	if others := rest(faults(whole.Scenario), needed); len(others) > 0 && len(c.Kinds) > 0 {
		v := whole
		v.Scenario = without(whole.Scenario, others)
		add(Experiment{Change: "without the rest of the schedule", Rest: true}, v)
	}
	c.Violated, c.Seeds = 0, 0
	for i := range experiments {
		experiments[i].Holds = true
	}
	for n := range max(1, f.Seeds) {
		if n > 0 && f.spent() {
			break
		}
		seed := f.Seed + uint64(n)
		c.Seeds++
		if n == 0 || f.try(ctx, whole, seed).Verdict == history.Violated {
			c.Violated++
		}
		for i, v := range variations {
			experiments[i].add(f.try(ctx, v, seed).Verdict)
		}
	}
	c.conclude(experiments, needed, rules)
}

func (e *Experiment) add(verdict string) {
	e.Seeds++
	if verdict != history.Violated {
		e.Averts++
	}
	e.Holds = e.Holds && verdict != history.Inconclusive && verdict != ""
}

// conclude keeps the experiments that show something, and what they show is the cause: the needed parts, whose
// experiments come first, without which no seed is violated, and the rules, which come next, with which none is.
func (c *Cause) conclude(experiments []Experiment, needed []part, rules []string) {
	shown, fails := 0, false
	var always []part
	for i, e := range experiments {
		switch rule := i - len(needed); {
		case e.Averts < e.Seeds:
		case rule < 0:
			always = append(always, needed[i])
		case rule < len(rules):
			c.Rules = append(c.Rules, rules[rule])
		}
		switch {
		case e.Option || e.Rest:
			if e.Option && e.Averts == e.Seeds || e.Rest && e.Averts < e.Seeds {
				c.Experiments = append(c.Experiments, e)
			}
		default:
			shown++
			fails = fails || e.Averts < e.Seeds
			c.Experiments = append(c.Experiments, e)
		}
	}
	c.Necessary, c.Kinds = wordsOf(always), kinds(always)
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

// rest gives the parts that are not among those that are needed.
func rest(parts, needed []part) []part {
	return slices.DeleteFunc(slices.Clone(parts), func(p part) bool {
		return slices.ContainsFunc(needed, func(n part) bool { return n.words == p.words })
	})
}

// precision is how exactly the point of no return is found.
const precision = int64(time.Millisecond)

// bisect finds the last time at which it helps to end all faults.
func (f *Finder) bisect(ctx context.Context, c *Cause, whole Variation, needed []part, violated int64) {
	v := whole
	v.Scenario = without(whole.Scenario, rest(faults(whole.Scenario), needed))
	if f.try(ctx, v, f.Seed).Verdict != history.Violated {
		v = whole // the others are needed by chance
	}
	averted := func(t int64) bool {
		v.FaultsUntil = time.Duration(max(t, 1))
		return f.try(ctx, v, f.Seed).Verdict != history.Violated
	}
	low, high := int64(0), violated
	if !averted(low) || averted(high) {
		return // what is part of the setting from the beginning, or what was under way, decides it
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
