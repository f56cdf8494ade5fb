package cause

import (
	"context"
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// Variation is a scenario with something changed.
type Variation struct {
	Scenario *scenarios.Scenario
	Without  []string // the rules that are off
	// FaultsUntil is when the faults end, and from when on none begins; 0: never.
	FaultsUntil time.Duration
	// ContextTimeouts and NoRetries are settings of the client library: it keeps to the
	// deadline of a context, and sends nothing again.
	ContextTimeouts, NoRetries bool
}

// Outcome is what a trial of a variation came to.
type Outcome struct {
	Verdict string // on the property; "" if the trial failed
	At      int64  // when the first violation began
}

// Trial runs a variation from a seed.
type Trial func(ctx context.Context, v Variation, seed uint64) Outcome

// Finder finds the cause of one violation.
type Finder struct {
	// Scenario is what was run, its variant applied; Without are all rules that were off.
	Scenario *scenarios.Scenario
	Without  []string
	Property string
	Seed     uint64
	Trial    Trial
	// Seeds is how many seeds each experiment is made with, 1 or more.
	Seeds int
	// MaxTrials and Time bound the confirmation on other seeds and the search for the point
	// of no return, which are left out when one is spent; 0: nothing does. Time is a safety net.
	MaxTrials int
	Time      time.Duration
	// Options: its lock is on a client library whose settings can be tried.
	Options bool

	began  time.Time
	trials int
}

// all gives a scenario that demands nothing of its trial: what is left out must not make
// the rest prove nothing.
func all(s *scenarios.Scenario) *scenarios.Scenario {
	c, none := *s, 0
	c.Earned = scenarios.Earned{Grants: &none, Contended: &none, Faults: &none, Writes: &none, Refused: &none}
	c.Script = slices.Clone(s.Script)
	for i := range c.Script {
		c.Script[i].Must = ""
	}
	c.Variants = nil
	return &c
}

// Find makes the experiments.
func (f *Finder) Find(ctx context.Context) Cause {
	f.began = time.Now()
	c := Cause{Property: f.Property, Seeds: 1, Violated: 1}
	whole := Variation{Scenario: all(f.Scenario), Without: f.Without}
	first := f.try(ctx, whole, f.Seed)
	if first.Verdict != history.Violated {
		c.Violated = 0
		c.NotFound = "run again, it is not violated"
		return c
	}
	needed := f.smallest(ctx, whole, faults(whole.Scenario))
	if len(needed) == 0 {
		bare := whole
		bare.Scenario = without(whole.Scenario, faults(whole.Scenario))
		needed = f.necessary(ctx, bare, steps(bare.Scenario))
		if len(needed) > 0 {
			whole = bare
		}
	}
	f.confirm(ctx, &c, whole, needed, f.rules(ctx, whole))
	if c.NotFound == "" && len(c.Kinds) > 0 {
		f.bisect(ctx, &c, whole, needed, first.At)
	}
	return c
}

// KindsOf gives the kinds of the faults that the violation needs: the fewest whose faults are enough, of one or two the
// first in the alphabet; else those of the smallest set that is found. It depends on the schedule alone, so that
// whoever searches in whatever order tells violations apart alike.
func (f *Finder) KindsOf(ctx context.Context) []string {
	whole := Variation{Scenario: all(f.Scenario), Without: f.Without}
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

// smallest gives parts without any of which the property is not violated, all others left
// out. It is the smallest in that no single part can be left out of it.
func (f *Finder) smallest(ctx context.Context, v Variation, parts []part) []part {
	if len(parts) == 0 || f.violated(ctx, v, parts) {
		return nil
	}
	var left []part // out
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

// necessary gives the parts without each of which alone the property is not violated.
func (f *Finder) necessary(ctx context.Context, v Variation, parts []part) []part {
	var found []part
	for _, p := range parts {
		if !f.violated(ctx, v, []part{p}) {
			found = append(found, p)
		}
	}
	return found
}

// rules gives the rules that are off and with which, on again, it is not violated.
func (f *Finder) rules(ctx context.Context, v Variation) []string {
	var found []string
	for _, rule := range f.Without {
		if f.try(ctx, f.with(v, rule), f.Seed).Verdict != history.Violated {
			found = append(found, rule)
		}
	}
	return found
}

// with has a rule on again.
func (f *Finder) with(v Variation, rule string) Variation {
	v.Without = slices.DeleteFunc(slices.Clone(v.Without), func(r string) bool { return r == rule })
	return v
}

// try runs a variation, and counts it.
func (f *Finder) try(ctx context.Context, v Variation, seed uint64) Outcome {
	f.trials++
	return f.Trial(ctx, v, seed)
}

func (f *Finder) spent() bool {
	return f.MaxTrials > 0 && f.trials >= f.MaxTrials || f.Time > 0 && time.Since(f.began) > f.Time
}
