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
// Count targets drawn from Among, for so long.
type Random struct {
	Fault              Fault // its targets are drawn
	Among              []string
	Count              int
	EveryMin, EveryMax time.Duration
	ForMin, ForMax     time.Duration
}

// Planned is one fault of a schedule.
type Planned struct {
	At    time.Duration // from the schedule's start
	For   time.Duration
	Fault Fault
}

// Schedule draws what will happen until the end: the same for the same seed. A
// target that is under a fault is not drawn again, by any Random, until that
// has ended: a node that is down cannot be paused, nor its clock be set.
func Schedule(seed uint64, faults []Random, until time.Duration) []Planned {
	var plan []Planned
	busy := map[string]time.Duration{}
	for _, o := range occasions(seed, faults, until) {
		p := Planned{At: o.at, For: between(o.rng, o.ForMin, o.ForMax), Fault: o.Fault}
		p.Fault.Targets = draw(o.rng, o.Among, max(o.Count, 1), func(t string) bool { return busy[t] <= o.at })
		for _, t := range p.Fault.Targets {
			busy[t] = o.at + p.For + time.Millisecond
		}
		if len(p.Fault.Targets) > 0 {
			plan = append(plan, p)
		}
	}
	return plan
}

// occasion is a time at which a Random is due.
type occasion struct {
	Random
	at  time.Duration
	rng *rand.Rand // the Random's own
}

// occasions lists them in the order of time.
func occasions(seed uint64, faults []Random, until time.Duration) []occasion {
	var all []occasion
	for i, r := range faults {
		when := rand.New(rand.NewPCG(seed, uint64(2*i)))
		what := rand.New(rand.NewPCG(seed, uint64(2*i+1)))
		for at := between(when, r.EveryMin, r.EveryMax); at < until; at += between(when, r.EveryMin, r.EveryMax) {
			all = append(all, occasion{r, at, what})
		}
	}
	slices.SortStableFunc(all, func(a, b occasion) int { return cmp.Compare(a.at, b.at) })
	return all
}

// between draws a time, and never none: what is due every so often would be due
// for ever at one instant.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return max(least, time.Millisecond)
	}
	return max(least+time.Duration(rng.Int64N(int64(most-least)+1)), time.Millisecond)
}

// draw picks up to count of those that are free.
func draw(rng *rand.Rand, among []string, count int, free func(string) bool) []string {
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
	over := map[string]chan struct{}{} // by target: when its latest fault is over
	for _, p := range plan {
		wait := p.At - time.Duration(n.cluster.Now()-began)
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
		p.Fault.drawn = true
		begun, err := n.Apply(ctx, p.Fault)
		note(err)
		wg.Go(func() {
			defer close(ended)
			n.cluster.Sleep(ctx, p.For)
			note(n.undo(p.Fault, begun))
		})
	}
	wg.Wait()
	return failed
}

// undo ends a planned fault: as its declaration says, or by its own end. It does so
// even when the run has been called off.
func (n *Nemesis) undo(f Fault, begun []*Active) error {
	ctx := context.Background()
	if d := Find(string(f.Kind)); d != nil && d.undo != nil {
		return d.undo(n, ctx, f)
	}
	return n.endEach(ctx, begun)
}
