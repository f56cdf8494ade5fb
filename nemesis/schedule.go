package nemesis

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Random is one kind of fault in a seeded schedule: every so often it befalls
// Count of its targets, for so long.
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

// Schedule draws what will happen until the end: the same for the same seed. A
// target that is under a fault is not drawn again, by any Random, until that
// has ended: a node that is down cannot be paused, nor its clock be set.
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

// occurrence is a time at which a Random is due.
type occurrence struct {
	Random
	start time.Duration
	rng   *rand.Rand // the Random's own
}

// occurrences lists them in the order of time.
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

// randomDuration draws a time, and never none: what is due every so often would be due
// for ever at one instant.
func randomDuration(rng *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return max(least, time.Millisecond)
	}
	return max(least+time.Duration(rng.Int64N(int64(most-least)+1)), time.Millisecond)
}

// pickTargets picks up to count of those that are free.
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

// Run carries out a plan and returns once every fault of it has ended. When ctx
// ends it stops firing, and ends what is in effect.
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
	cutShort := map[int]func() error{} // by its place in the plan: ends what has not ended by itself
	over := map[string]chan struct{}{} // by target: when its latest fault is over
	for i, p := range plan {
		wait := p.Start - time.Duration(n.cluster.Now()-began)
		if n.cluster.Sleep(ctx, wait) != nil {
			break
		}
		ended := make(chan struct{})
		for _, t := range p.Fault.Targets {
			if before := over[t]; before != nil {
				<-before // real servers take their time to come back
			}
			over[t] = ended
		}
		if ctx.Err() != nil {
			break // what was in effect on its targets may be yet
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
		n.cluster.Sleep(ctx, 0) // its end is set before the next beginning: due at one instant, it is the first
	}
	wg.Wait()
	for i := range plan { // at one instant, so in the plan's order
		if end := cutShort[i]; end != nil {
			note(end())
		}
	}
	return failed
}

// undo ends a planned fault: as its declaration says, or by its own end. It does so
// even when the run has been called off.
func (n *Nemesis) undo(f Fault, begun []*Active) error {
	ctx := context.Background()
	if d := Find(string(f.Kind)); d != nil && d.undo != nil {
		return d.undo(n, ctx, f)
	}
	return n.endFaults(ctx, begun)
}
