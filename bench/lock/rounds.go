package lock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"example.org/lockproof/bench/figures"
)

// settle is the time for a lock's background work before its keys are counted. An orphan stays for much longer, the
// TTL.
const settle = 100 * time.Millisecond

// trial measures a group of peers: in each round one peer after another, so that a disturbance of the machine affects
// all of them.
type trial struct {
	callers int
	rounds  int
	length  time.Duration // of one round of one peer
	// brief: rounds are so short and so many that only pairs and processor time are measured.
	brief bool
	// known, unless nil, reports after every so many rounds whether they are enough; most is the limit.
	known func(results [][]round) bool
	most  int
	// oneKey: all callers use one key; otherwise each key is used once.
	oneKey bool
	settle time.Duration // after a round, before keys are counted
	// begin and end, unless nil, run around the load of each round.
	begin, end func() error
}

// round is the result of one peer in one round.
type round struct {
	elapsed  time.Duration
	grants   []int                   // by caller
	waits    *hdrhistogram.Histogram // from call to grant, in nanoseconds; nil in a brief round
	pairs    *hdrhistogram.Histogram // from call to the end of the release, like waits
	mallocs  uint64
	cpu      time.Duration // of this process, without the servers
	commands int64         // executed by the servers
	orphans  int64         // keys left behind
}

func (r round) total() int {
	total := 0
	for _, n := range r.grants {
		total += n
	}
	return total
}

// run measures peers on these addresses; the result is by peer and round.
func (t trial) run(ctx context.Context, s *Servers, addrs []string, chosen []peer) (results [][]round, err error) {
	lockers := make([]locker, len(chosen))
	defer func() {
		for _, l := range lockers {
			if l != nil {
				err = errors.Join(err, l.close())
			}
		}
	}()
	for i, p := range chosen {
		if lockers[i], err = p.open(addrs); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	results = make([][]round, len(chosen))
	draw := rand.New(rand.NewPCG(1, 0))
	for n := 0; !t.enough(n, results); n++ { // round 0 dials, and does not count
		// Random order, so that no peer always comes first or after the same other peer.
		for _, i := range draw.Perm(len(chosen)) {
			r, err := t.round(ctx, s, lockers[i], n)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", chosen[i].name, err)
			}
			if n > 0 {
				results[i] = append(results[i], r)
			}
		}
	}
	return results, nil
}

// enough reports whether n rounds are enough; the first of them does not count.
func (t trial) enough(n int, results [][]round) bool {
	n--
	switch {
	case n < t.rounds:
		return false
	case t.known == nil || n >= t.most:
		return true
	default:
		return n%t.rounds == 0 && t.known(results)
	}
}

func (t trial) round(ctx context.Context, s *Servers, l locker, n int) (round, error) {
	if t.brief {
		r, err := t.load(ctx, l, n)
		time.Sleep(t.settle)
		return r, errors.Join(err, ctx.Err())
	}
	before, err := s.commands(ctx)
	if err != nil {
		return round{}, err
	}
	r, err := t.disturbed(ctx, l, n)
	if err != nil {
		return round{}, err
	}
	time.Sleep(t.settle)
	after, err := s.commands(ctx)
	if err != nil {
		return round{}, err
	}
	r.commands = after - before - int64(len(s.Addrs)) // without the last INFOs
	r.orphans, err = s.sweep(ctx)
	return r, errors.Join(err, ctx.Err())
}

// disturbed is load between begin and end.
func (t trial) disturbed(ctx context.Context, l locker, n int) (r round, err error) {
	if t.begin != nil {
		if err := t.begin(); err != nil {
			return r, err
		}
	}
	r, err = t.load(ctx, l, n)
	if t.end != nil {
		err = errors.Join(err, t.end())
	}
	return r, err
}

// load makes the callers acquire and release keys until the round is over.
func (t trial) load(ctx context.Context, l locker, n int) (round, error) {
	callers := make([]caller, t.callers)
	for i := range callers {
		if !t.brief {
			callers[i].waits, callers[i].pairs = newHistogram(), newHistogram()
		}
	}
	var before, after runtime.MemStats
	if !t.brief {
		runtime.GC() // the garbage of the peer before does not count here
		runtime.ReadMemStats(&before)
	}
	cpu, err := processorTime()
	if err != nil {
		return round{}, err
	}
	begin := time.Now()
	var all sync.WaitGroup
	for i := range callers {
		c := &callers[i]
		key := fmt.Sprintf("%d-%d-", n, i)
		next := func() string { return key + strconv.Itoa(c.grants) }
		if t.oneKey {
			next = func() string { return "contended" }
		}
		all.Go(func() { c.err = c.work(ctx, l, next, begin.Add(t.length)) })
	}
	all.Wait()
	r := round{elapsed: time.Since(begin)}
	used, err := processorTime()
	if err != nil {
		return round{}, err
	}
	r.cpu = used - cpu
	if !t.brief {
		runtime.ReadMemStats(&after)
		r.mallocs = after.Mallocs - before.Mallocs
		r.waits, r.pairs = newHistogram(), newHistogram()
	}
	var errs []error
	for _, c := range callers {
		if !t.brief {
			r.waits.Merge(c.waits)
			r.pairs.Merge(c.pairs)
		}
		r.grants = append(r.grants, c.grants)
		errs = append(errs, c.err)
	}
	return r, errors.Join(errs...)
}

// newHistogram records from a microsecond to a minute to three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(time.Minute), 3)
}

// caller is one of the concurrent users of a lock.
type caller struct {
	grants       int
	waits, pairs *hdrhistogram.Histogram // nil in a brief round
	err          error
}

// work acquires and releases keys until a time, at least once: ratios need a rate above 0.
func (c *caller) work(ctx context.Context, l locker, next func() string, until time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, until.Add(ttl))
	defer cancel()
	for {
		asked := time.Now()
		if c.grants > 0 && asked.After(until) {
			return nil
		}
		h, err := l.acquire(ctx, next())
		if err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
		granted := time.Now()
		if err := h.release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		c.grants++
		if err := c.note(asked, granted); err != nil {
			return err
		}
	}
}

// note records the durations of a pair that has just ended.
func (c *caller) note(asked, granted time.Time) error {
	if c.waits == nil {
		return nil
	}
	return errors.Join(
		c.waits.RecordValue(int64(granted.Sub(asked))),
		c.pairs.RecordValue(int64(time.Since(asked))),
	)
}

// figureOf makes a figure of one number for each round.
func figureOf(name string, unit figures.Unit, rounds []round, of func(round) float64) figures.Figure {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = of(r)
	}
	return figures.Of(name, unit, values...)
}

func quantile(h func(round) *hdrhistogram.Histogram, q float64) func(round) float64 {
	return func(r round) float64 { return float64(h(r).ValueAtQuantile(q)) / 1e9 }
}

func waits(r round) *hdrhistogram.Histogram { return r.waits }
func pairs(r round) *hdrhistogram.Histogram { return r.pairs }

func rate(r round) float64        { return float64(r.total()) / r.elapsed.Seconds() }
func allocations(r round) float64 { return float64(r.mallocs) / float64(max(1, r.total())) }
func perGrant(r round) float64    { return float64(r.commands) / float64(max(1, r.total())) }
func orphans(r round) float64     { return float64(r.orphans) }

func clientCPU(r round) float64 { return r.cpu.Seconds() / float64(max(1, r.total())) }
