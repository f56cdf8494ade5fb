package nemesis

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Random is one kind of fault in a seeded schedule: at random intervals it hits Count of its targets, for a random
// duration.
type Random struct {
	Fault                    Fault
	Count                    int
	IntervalMin, IntervalMax time.Duration
	DurationMin, DurationMax time.Duration
}

// Planned is one fault of a schedule.
type Planned struct {
	Start    time.Duration // from the schedule's start
	Duration time.Duration
	Fault    Fault
}

// Schedule draws faults until the end, the same for the same seed. No Random draws a target before the end of its
// previous fault: for example, a node that is down cannot be paused.
func Schedule(seed uint64, faults []Random, until time.Duration) []Planned {
	var plan []Planned
	busy := map[string]time.Duration{}
	for _, o := range occurrences(seed, faults, until) {
		p := Planned{Start: o.start, Duration: randomDuration(o.rng, o.DurationMin, o.DurationMax), Fault: o.Fault}
		free := func(t string) bool { return busy[t] <= o.start }
		p.Fault.Targets = pickTargets(o.rng, o.Fault.Targets, max(o.Count, 1), free)
		for _, t := range p.Fault.Targets {
			busy[t] = o.start + p.Duration + time.Millisecond
		}
		if len(p.Fault.Targets) > 0 {
			plan = append(plan, p)
		}
	}
	return plan
}

// occurrence is a start time of a Random.
type occurrence struct {
	Random
	start time.Duration
	rng   *rand.Rand // the Random's own
}

// occurrences lists the start times of all faults, in order.
func occurrences(seed uint64, faults []Random, until time.Duration) []occurrence {
	var all []occurrence
	for i, r := range faults {
		timeRNG := rand.New(rand.NewPCG(seed, uint64(2*i)))
		targetRNG := rand.New(rand.NewPCG(seed, uint64(2*i+1)))
		for at := randomDuration(timeRNG, r.IntervalMin, r.IntervalMax); at < until; at += randomDuration(timeRNG,
			r.IntervalMin, r.IntervalMax) {
			all = append(all, occurrence{r, at, targetRNG})
		}
	}
	slices.SortStableFunc(all, func(a, b occurrence) int { return cmp.Compare(a.start, b.start) })
	return all
}

// randomDuration draws a positive time: with an interval of 0, occurrences would not end.
func randomDuration(rng *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return max(least, time.Millisecond)
	}
	return max(least+time.Duration(rng.Int64N(int64(most-least)+1)), time.Millisecond)
}

// pickTargets picks up to count free targets.
func pickTargets(rng *rand.Rand, among []string, count int, free func(string) bool) []string {
	var picked []string
	for _, i := range rng.Perm(len(among)) {
		if len(picked) < count && free(among[i]) {
			picked = append(picked, among[i])
		}
	}
	slices.Sort(picked)
	return picked
}

// Run applies a plan and returns once all its faults have ended. When ctx ends, it applies no more faults and ends the
// active ones.
func (n *Nemesis) Run(ctx context.Context, plan []Planned) error {
	began := n.cluster.Now()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil && failed == nil {
			failed = err
		}
	}
	cutShort := map[int]func() error{}   // by index in the plan: ends an interrupted fault
	latest := map[string]chan struct{}{} // by target: closed when its latest fault has ended
	for i, p := range plan {
		wait := p.Start - time.Duration(n.cluster.Now()-began)
		if n.cluster.Sleep(ctx, wait) != nil {
			break
		}
		ended := make(chan struct{})
		for _, t := range p.Fault.Targets {
			if before := latest[t]; before != nil {
				<-before // real servers restart slowly
			}
			latest[t] = ended
		}
		if ctx.Err() != nil {
			break // earlier faults on its targets may be active
		}
		p.Fault.random = true
		begun, err := n.Apply(ctx, p.Fault)
		note(err)
		wg.Go(func() {
			defer close(ended)
			end := func() error { return n.undo(p.Fault, begun) }
			if n.cluster.Sleep(ctx, p.Duration) == nil {
				note(end())
				return
			}
			mu.Lock()
			defer mu.Unlock()
			cutShort[i] = end
		})
		n.cluster.Sleep(ctx, 0) // sets its end before the next begin: at one instant, the end comes first
	}
	wg.Wait()
	for i := range plan { // all at one instant: in the plan's order
		if end := cutShort[i]; end != nil {
			note(end())
		}
	}
	return failed
}

// undo ends a planned fault by its declaration's undo or by its own end, even if the run is cancelled.
func (n *Nemesis) undo(f Fault, begun []*Active) error {
	ctx := context.Background()
	if d := Find(f.Kind); d != nil && d.undo != nil {
		return d.undo(n, ctx, f)
	}
	return n.endFaults(ctx, begun)
}
