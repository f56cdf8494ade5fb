package suite

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/trial"
)

// concurrency records for each attempt the maximum number of others at the same time.
type concurrency struct {
	mu      sync.Mutex
	running map[*int]bool
	most    map[string][]*int // by scenario, for each attempt
}

func (b *concurrency) begin(name string) (attempt int, end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	others := new(int)
	b.running[others] = true
	for one := range b.running {
		*one = max(*one, len(b.running)-1)
	}
	b.most[name] = append(b.most[name], others)
	return len(b.most[name]), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, others)
	}
}

// Retries run after all other trials, one at a time.
func TestStalledTrial_IsRetriedAlone(t *testing.T) {
	o := onFake(1)
	o.Parallel = 3
	b := &concurrency{running: map[*int]bool{}, most: map[string][]*int{}}
	all := make(chan struct{}) // closed when the maximum of trials runs
	var begun sync.WaitGroup
	begun.Add(3)
	go func() { begun.Wait(); close(all) }()
	performer := func(_ context.Context, p *trial.Plan, result *Result, j *trial.Journal) (trial.Observed, error) {
		attempt, end := b.begin(p.Name)
		defer end()
		if attempt == 1 && p.Name < "d" {
			begun.Done()
			<-all
		}
		if attempt <= 2 && p.Name == "a" { // the engine, and then a server, takes too long
			slow := []error{context.DeadlineExceeded, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}
			return trial.Observed{}, fmt.Errorf("start n1: %w", slow[attempt-1])
		}
		record(j, granted(p, result))
		if attempt == 1 && p.Name == "b" {
			j.Record(stall)
		}
		return trial.Observed{}, nil
	}
	var order []string
	trials := runFake(t.Context(), o, []Job{plain("a"), plain("b"), plain("c"), plain("d")}, performer,
		func(r Result) { order = append(order, r.Scenario) })
	require.ElementsMatch(t, []string{"c", "d"}, order[:2])
	require.ElementsMatch(t, []string{"a", "b"}, order[2:])
	for i, want := range []int{3, 2, 1, 1} {
		requireStanding(t, trials[i], AsExpected, "")
		require.Equal(t, want, trials[i].Attempts)
	}
	for name, attempts := range b.most {
		require.True(t, name == "d" || *attempts[0] >= 2, "%s had others beside it at first", name)
		for _, others := range attempts[1:] {
			require.Zero(t, *others, "%s has none when it is tried again", name)
		}
	}
}

// attempt is the history of one attempt at a trial.
type attempt = func(*trial.Plan, *Result) []history.Event

func inTime(p *trial.Plan, r *Result) []history.Event  { return waited(p, r, false) }
func late(p *trial.Plan, r *Result) []history.Event    { return waited(p, r, true) }
func stalled(p *trial.Plan, r *Result) []history.Event { return append(granted(p, r), stall) }
func overlaps(p *trial.Plan, r *Result) []history.Event {
	return slices.Insert(granted(p, r), 3, overlapping...)
}

// lateOverlap breaks a bound and overlaps.
func lateOverlap(p *trial.Plan, r *Result) []history.Event {
	return slices.Insert(late(p, r), 3, overlappingLate...)
}

func unreached(p *trial.Plan, r *Result) []history.Event {
	return slices.Insert(granted(p, r), 1, history.Event{Time: 1, Process: "harness", Type: history.TypeNote,
		Reason: history.ReasonPreconditionFailed, Text: "c1's acquire had to succeed, and failed"})
}

// attempting performs these attempts at a trial.
func attempting(first, second attempt) performer {
	return fakePerformer(func(p *trial.Plan, r *Result) []history.Event {
		if r.Attempts > 1 {
			return second(p, r)
		}
		return first(p, r)
	})
}

// On a busy machine a client is granted too late, begins late and waits for less, meets no other, or fails before the
// situation occurs. A slow machine excuses no overlap: a second run that shows none does not take it back.
func TestDoubtfulTrial_IsRetriedAlone(t *testing.T) {
	type expect map[string]string
	bound, brokenBound := expect{checker.FaultTolerance: history.Holds},
		expect{checker.FaultTolerance: history.Violated, checker.DeadlockFreedom: history.Violated}
	excludes, overlap := expect{checker.MutualExclusion: history.Holds}, expect{checker.MutualExclusion: history.Violated}
	for name, c := range map[string]struct {
		first, second attempt
		expect        expect
		attempts      int
		want          Standing
		why           string // a pattern
	}{
		"a bound is kept":                     {inTime, inTime, bound, 1, AsExpected, ""},
		"a bound is broken once":              {late, inTime, bound, 2, Inconclusive, "and not when it ran again, alone"},
		"a bound is broken twice":             {late, late, bound, 2, Differs, "expected holds, got violated"},
		"an expected break":                   {late, late, brokenBound, 1, AsExpected, ""},
		"an expected break is missing once":   {inTime, late, brokenBound, 2, AsExpected, ""},
		"an expected break is missing twice":  {inTime, inTime, brokenBound, 2, Differs, ""},
		"an expected overlap":                 {overlaps, overlaps, overlap, 1, AsExpected, ""},
		"an expected overlap is missing once": {granted, overlaps, overlap, 2, AsExpected, ""},
		"an expected overlap is missing":      {granted, granted, overlap, 2, Differs, ""},
		"a situation is not reached once":     {unreached, granted, excludes, 2, AsExpected, ""},
		"a situation is not reached twice":    {unreached, unreached, excludes, 2, Inconclusive, ""},
		"a broken bound beside an overlap": {lateOverlap, granted,
			expect{checker.MutualExclusion: history.Holds, checker.FaultTolerance: history.Holds}, 1, Differs,
			"^mutual-exclusion: expected holds, got violated$"},
	} {
		for parallel := 1; parallel <= 2; parallel++ {
			t.Run(fmt.Sprintf("%s, %d at a time", name, parallel), func(t *testing.T) {
				o, job := onFake(1), plain("a")
				o.Parallel, job.Scenario.Expect = parallel, c.expect
				done := runFake(t.Context(), o, []Job{job}, attempting(c.first, c.second), func(Result) {})[0]
				standing, why := done.Standing()
				require.Equal(t, c.want, standing, why)
				require.Regexp(t, c.why, why)
				require.Equal(t, c.attempts, done.Attempts)
			})
		}
	}
}

// That it does not recur does not show that the lock is better than the reference.
func TestBrokenBound_BesideAnExpectedOverlap_DoesNotHold(t *testing.T) {
	job := plain("a")
	job.AllowBetter = true
	job.Scenario.Expect = map[string]string{checker.MutualExclusion: history.Violated}
	done := runFake(t.Context(), onFake(1), []Job{job}, attempting(lateOverlap, granted), func(Result) {})[0]
	requireStanding(t, done, Inconclusive, "mutual-exclusion: expected violated, got inconclusive")
	require.Equal(t, 2, done.Attempts)
}

// Without time for a retry, the first result counts, but not against the lock if the machine may have been too slow.
func TestDoubtfulTrial_RunEnds_IsUndecided(t *testing.T) {
	for why, first := range map[string]attempt{"stalled": stalled, "not repeated alone": late} {
		ctx, interrupt := context.WithCancel(t.Context())
		job := plain("a")
		job.Scenario.Expect[checker.FaultTolerance] = history.Holds
		performer := fakePerformer(func(p *trial.Plan, r *Result) []history.Event {
			interrupt()
			return first(p, r)
		})
		done := runFake(ctx, onFake(1), []Job{job}, performer, func(Result) {})[0]
		requireStanding(t, done, Inconclusive, why)
		require.Equal(t, 1, done.Attempts)
	}
}

// waited is the history of an acquire on healthy nodes, granted at once or too late.
func waited(p *trial.Plan, t *Result, late bool) []history.Event {
	granted := int64(2)
	if late {
		granted = int64(time.Hour)
	}
	header := p.Header("fake 1.0", t.Trial, t.Seed)
	header.Header.Bounds.Grant, header.Header.Bounds.Release = int64(time.Second), int64(time.Second)
	return []history.Event{
		header,
		{Time: 1, Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"},
		{Time: granted, Process: "c1", Type: history.TypeOK, Op: history.OpAcquire, ID: 1, Lease: 1, Key: "k1", Token: "a",
			Validity: 10},
		{Time: granted + 20, Process: "harness", Type: history.TypeEnd},
	}
}

// overlappingLate is another client's lease in the middle of waited's late one.
var overlappingLate = []history.Event{
	{Time: int64(time.Hour) + 1, Process: "c2", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"},
	{Time: int64(time.Hour) + 2, Process: "c2", Type: history.TypeOK, Op: history.OpAcquire, ID: 1, Lease: 1, Key: "k1",
		Token: "b", Validity: 5},
}
