package cause

import (
	"context"
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// Variation is a scenario with one or more changes.
type Variation struct {
	Scenario *scenarios.Scenario
	Without  []string // the rules that are off
	// FaultsUntil is when the faults end, and no other begins; 0: never.
	FaultsUntil time.Duration
	// ContextTimeouts and NoRetries are settings of the client library: it obeys the deadline of a context, and repeats
	// no command.
	ContextTimeouts, NoRetries bool
}

// Judged is the result of a variation's trial.
type Judged struct {
	// Verdict is that on the property. It is inconclusive if the situation did not occur, and "" if nothing is known: the
	// trial failed, its script stopped early, or the checker could not decide.
	Verdict string
	At      int64 // when the first violation began
	// AsExpected: the trial shows its situation, and every verdict is as its scenario expects.
	AsExpected bool
}

// Trial runs a variation from a seed.
type Trial func(ctx context.Context, v Variation, seed uint64) Judged

// Finder finds the cause of one violation.
type Finder struct {
	// Scenario is the scenario that was run, with its variant applied; Without are all rules that were off.
	Scenario *scenarios.Scenario
	Without  []string
	Property string
	Seed     uint64
	Trial    Trial
	// Seeds is the number of seeds for each experiment, 1 or more.
	Seeds int
	// MaxTrials and Time limit the confirmation on other seeds; 0: no limit. Time limits the search for the point of no
	// return, too. If too few seeds were tried, no cause is shown.
	MaxTrials int
	Time      time.Duration
	// Options: its lock uses a client library with settings that can be tried.
	Options bool

	began  time.Time
	trials int
}

// relaxed returns a variation that can go without faults: none need have an effect or cause a refusal, and no step need
// have its required outcome.
func relaxed(v Variation) Variation {
	c, none := *v.Scenario, 0
	c.Earned.Faults, c.Earned.Refused = &none, &none
	c.Script = slices.Clone(c.Script)
	for i := range c.Script {
		c.Script[i].Must = ""
	}
	c.Variants = nil
	v.Scenario = &c
	return v
}

// Find runs the experiments.
func (f *Finder) Find(ctx context.Context) Cause {
	f.began = time.Now()
	whole := Variation{Scenario: f.Scenario, Without: f.Without}
	first := f.try(ctx, whole, f.Seed)
	if first.Verdict != history.Violated && ctx.Err() == nil {
		return Cause{Property: f.Property, Seeds: 1, NotFound: "run again, it is not violated"}
	}
	c := Cause{Property: f.Property}
	needed := f.smallest(ctx, relaxed(whole), faults(whole.Scenario))
	if len(needed) == 0 {
		needed = f.necessary(ctx, relaxed(whole), steps(whole.Scenario))
	}
	f.confirm(ctx, &c, whole, needed, f.rules(ctx, relaxed(whole)))
	if c.Violated == c.Seeds && len(kinds(needed)) > 0 {
		f.findPointOfNoReturn(ctx, &c, whole, first.At)
	}
	if ctx.Err() != nil {
		return Cause{Property: f.Property, NotFound: "the experiments were interrupted"}
	}
	return c
}

// KindsOf returns the kinds of faults that the violation needs: none if it needs none, the alphabetically first one or
// two that suffice, or those of the smallest set that is found. It depends on the schedule alone, so that searches in
// any order identify violations alike.
func (f *Finder) KindsOf(ctx context.Context) []string {
	whole := relaxed(Variation{Scenario: f.Scenario, Without: f.Without})
	parts := faults(whole.Scenario)
	enough := func(set ...string) bool {
		return f.violated(ctx, whole,
			slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return slices.Contains(set, p.kind) }))
	}
	if enough() {
		return nil
	}
	present := kinds(parts)
	for _, kind := range present {
		if enough(kind) {
			return []string{kind}
		}
	}
	for i, first := range present {
		for _, second := range present[i+1:] {
			if enough(first, second) {
				return []string{first, second}
			}
		}
	}
	return kinds(f.smallest(ctx, whole, parts))
}

// violated reports whether the property is violated without some parts.
func (f *Finder) violated(ctx context.Context, v Variation, parts []part) bool {
	v.Scenario = without(v.Scenario, parts)
	return f.try(ctx, v, f.Seed).Verdict == history.Violated
}

// smallest returns parts that suffice for the violation, without all others, and none of which can be left out. nil:
// the violation needs no part.
func (f *Finder) smallest(ctx context.Context, v Variation, parts []part) []part {
	if len(parts) == 0 || f.violated(ctx, v, parts) {
		return nil
	}
	var left []part // left out
	needed := slices.Clone(parts)
	for size := max(1, len(needed)/2); ; size /= 2 {
		for from := len(needed) - size; from >= 0; from -= size {
			out := append(slices.Clone(left), needed[from:from+size]...)
			if len(out) < len(parts) && f.violated(ctx, v, out) {
				left, needed = out, slices.Delete(needed, from, from+size)
				from = min(from, len(needed))
			}
		}
		if size <= 1 {
			return needed
		}
	}
}

// necessary returns the steps without any one of which the property holds. Without a write, nothing may be tested.
func (f *Finder) necessary(ctx context.Context, v Variation, steps []part) []part {
	return slices.DeleteFunc(steps, func(p part) bool {
		changed := v
		changed.Scenario = without(v.Scenario, []part{p})
		return f.try(ctx, changed, f.Seed).Verdict != history.Holds
	})
}

// rules returns the rules that are off, any one of which averts the violation when on.
func (f *Finder) rules(ctx context.Context, v Variation) []string {
	var found []string
	for _, rule := range f.Without {
		if f.try(ctx, f.with(v, rule), f.Seed).Verdict != history.Violated {
			found = append(found, rule)
		}
	}
	return found
}

// with switches a rule on.
func (f *Finder) with(v Variation, rule string) Variation {
	v.Without = slices.DeleteFunc(slices.Clone(v.Without), func(r string) bool { return r == rule })
	return v
}

// try runs a variation, and counts it.
func (f *Finder) try(ctx context.Context, v Variation, seed uint64) Judged {
	f.trials++
	return f.Trial(ctx, v, seed)
}

func (f *Finder) spent() bool { return f.MaxTrials > 0 && f.trials >= f.MaxTrials || f.late() }

func (f *Finder) late() bool { return f.Time > 0 && time.Since(f.began) > f.Time }
