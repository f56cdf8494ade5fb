package validate

import (
	"context"
	"fmt"
	"time"

	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// Found is the smallest restart delay that showed no violation.
type Found struct {
	Crash     settings.Crash `json:"crash"`
	TTL       time.Duration  `json:"ttl"`
	Delay     time.Duration  `json:"delay"`     // nanoseconds
	Predicted time.Duration  `json:"predicted"` // 0 where nothing is forgotten
	// Violated is the longest delay that did show one, 0 if none did.
	Violated time.Duration `json:"violated_at"`
	Tally    Tally         `json:"trials"` // at Delay
	Why      string        `json:"why,omitempty"`
}

// finest is how finely a delay is searched: an operator gives no finer one.
const finest = 10 * time.Millisecond

// FindDelay searches, for each crash and the longest TTL, for the smallest delay
// without a violation, and tries it as often as confirm says with crashes at the
// worst moment, each with another seed.
func (a *Asker) FindDelay(ctx context.Context, confirm int) ([]Found, error) {
	ttl := a.Longest()
	a.stage("the smallest restart delay for a TTL of %s", ttl)
	var all []Found
	for _, crash := range a.Crashes {
		p := Point{Persistence: persistenceAfter(a.Redis, crash), Crash: crash, TTL: ttl}
		f, err := a.findDelay(ctx, p, confirm)
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, nil
}

func (a *Asker) findDelay(ctx context.Context, p Point, confirm int) (Found, error) {
	f := Found{Crash: p.Crash, TTL: p.TTL}
	if Forgets(p.Persistence, p.Crash) {
		f.Predicted = Boundary(p.TTL, a.Drift)
	}
	first, err := a.worst(ctx, p, 1)
	if err != nil || first.Violated == 0 {
		if err == nil {
			f.Tally, err = a.worst(ctx, p, confirm)
		}
		f.Why = undecided(ctx, f.Tally)
		return f, err
	}
	low, high := time.Duration(0), time.Duration(lastShare*float64(p.TTL))
	for high-low > finest {
		p.Delay = ((low + high) / 2).Round(finest / 2)
		t, err := a.worst(ctx, p, 2)
		if err != nil {
			return f, err
		}
		if f.Why = undecided(ctx, t); f.Why != "" {
			return f, nil
		}
		if t.Violated > 0 {
			low = p.Delay
		} else {
			high = p.Delay
		}
	}
	for ctx.Err() == nil {
		p.Delay = high
		if f.Tally, err = a.worst(ctx, p, confirm); err != nil || f.Tally.Violated == 0 {
			break
		}
		low, high = high, high+finest
	}
	f.Delay, f.Violated, f.Why = high, low, undecided(ctx, f.Tally)
	if f.Tally.Violated > 0 {
		f.Why = interrupted // before a longer one was tried
	}
	return f, err
}

// interrupted is why a search that was cut short has nothing to tell.
const interrupted = "it was interrupted"

// undecided is why trials of a search tell nothing, or "".
func undecided(ctx context.Context, t Tally) string {
	switch {
	case t.Decided() > 0:
		return ""
	case ctx.Err() != nil:
		return interrupted
	}
	return "no trial decided: " + t.Why
}

// worst tries a point at the worst moment, as many times, each with a seed of
// its own, on virtual time.
func (a *Asker) worst(ctx context.Context, p Point, times int) (Tally, error) {
	var sum Tally
	job, err := p.job(fmt.Sprintf("%s-%s-ttl-%s-back-after-%s", p.Persistence, p.Crash, p.TTL, p.Delay), nth(0), a.Drift)
	if err != nil {
		return sum, err
	}
	trials, err := a.repeat(ctx, job, times)
	for _, t := range trials {
		sum.count(t, "mutual-exclusion")
	}
	return sum, err
}

// repeat runs a job in virtual time, each time with another seed.
func (a *Asker) repeat(ctx context.Context, job suite.Job, times int) ([]suite.Result, error) {
	if ctx.Err() != nil {
		return nil, nil
	}
	o := a.options()
	o.Cluster, o.Trials, o.Parallel = suite.Virtual, times, 0
	return a.suite(ctx, []suite.Job{job}, o)
}
