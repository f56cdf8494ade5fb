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

// Without time for a retry, the first result counts.
func TestStalledTrial_IsReportedWhenTheRunEnds(t *testing.T) {
	o := onFake(2)
	o.Parallel = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
		if result.Trial == 1 {
			cancel()
			return granted(p, result)
		}
		return append(granted(p, result), stall)
	})
	trials := runFake(ctx, o, []Job{plain("a")}, performer, func(Result) {})
	require.Len(t, trials, 2)
	requireStanding(t, trials[0], Inconclusive, "stalled")
	require.Equal(t, 1, trials[0].Attempts)
}

func TestBrokenBound_IsUndecidedWhenTheRunEnds(t *testing.T) {
	for _, parallel := range []int{1, 2} {
		o := onFake(1)
		o.Parallel = parallel
		ctx, cancel := context.WithCancel(t.Context())
		performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
			cancel()
			return waited(p, result, true)
		})
		job := plain("a")
		job.Scenario.Expect = map[string]string{checker.FaultTolerance: history.Holds}
		trials := runFake(ctx, o, []Job{job}, performer, func(Result) {})
		requireStanding(t, trials[0], Inconclusive, "not repeated alone")
	}
}

// It is violated if the retry breaks it too, and inconclusive otherwise.
func TestBrokenBound_IsRetriedAlone(t *testing.T) {
	for name, c := range map[string]struct {
		parallel, broken int // trials at a time; attempts that break the bound
		expect           string
		attempts         int
		want             Standing
		why              string
	}{
		"the first time, beside others": {2, 1, history.Holds, 2, Inconclusive, "and not when it ran again, alone"},
		"the first time, alone":         {1, 1, history.Holds, 2, Inconclusive, "and not when it ran again, alone"},
		"each time, beside others":      {2, 9, history.Holds, 2, Differs, "expected holds, got violated"},
		"each time, alone":              {1, 9, history.Holds, 2, Differs, "expected holds, got violated"},
		"never":                         {2, 0, history.Holds, 1, AsExpected, ""},
		"where that was expected":       {2, 9, history.Violated, 1, AsExpected, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := onFake(1)
			o.Parallel = c.parallel
			job := plain("a")
			job.Scenario.Expect = map[string]string{checker.FaultTolerance: c.expect}
			if c.expect == history.Violated {
				job.Scenario.Expect[checker.DeadlockFreedom] = c.expect
			}
			performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
				return waited(p, result, result.Attempts <= c.broken)
			})
			trials := runFake(t.Context(), o, []Job{job}, performer, func(Result) {})
			requireStanding(t, trials[0], c.want, c.why)
			require.Equal(t, c.attempts, trials[0].Attempts)
		})
	}
}

// On a busy machine a client begins late, and waits for less.
func TestKeptBound_ViolationExpected_IsRetriedAlone(t *testing.T) {
	for kept, want := range map[int]Standing{0: AsExpected, 1: AsExpected, 9: Differs} {
		job := plain("a")
		job.Scenario.Expect = map[string]string{checker.FaultTolerance: history.Violated,
			checker.DeadlockFreedom: history.Violated}
		performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
			return waited(p, result, result.Attempts > kept)
		})
		trials := runFake(t.Context(), onFake(1), []Job{job}, performer, func(Result) {})
		requireStanding(t, trials[0], want, "")
		require.Equal(t, min(kept, 1)+1, trials[0].Attempts)
	}
}

// On a busy machine a client is too late to meet the other.
func TestNoOverlap_ViolationExpected_IsRetriedAlone(t *testing.T) {
	for hidden, want := range map[int]Standing{0: AsExpected, 1: AsExpected, 9: Differs} {
		job := plain("a")
		job.Scenario.Expect = map[string]string{checker.MutualExclusion: history.Violated}
		performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
			if result.Attempts <= hidden {
				return granted(p, result)
			}
			return slices.Insert(granted(p, result), 3, overlapping...)
		})
		trials := runFake(t.Context(), onFake(1), []Job{job}, performer, func(Result) {})
		requireStanding(t, trials[0], want, "")
		require.Equal(t, min(hidden, 1)+1, trials[0].Attempts)
	}
}

// lateOverlapOnce breaks a bound and overlaps in the first attempt alone.
var lateOverlapOnce = fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
	if result.Attempts > 1 {
		return granted(p, result)
	}
	return slices.Insert(waited(p, result, true), 3, overlappingLate...)
})

// A slow machine excuses no overlap: a second run that shows none does not take it back.
func TestBrokenBound_BesideAnOverlap_IsNotRetried(t *testing.T) {
	job := plain("a")
	job.Scenario.Expect = map[string]string{checker.MutualExclusion: history.Holds, checker.FaultTolerance: history.Holds}
	done := runFake(t.Context(), onFake(1), []Job{job}, lateOverlapOnce, func(Result) {})[0]
	requireStanding(t, done, Differs, "mutual-exclusion: expected holds, got violated")
	require.Equal(t, history.Inconclusive, done.verdict(checker.FaultTolerance))
}

// That it does not recur does not show that the lock is better than the reference.
func TestBrokenBound_BesideAnExpectedOverlap_DoesNotHold(t *testing.T) {
	job := plain("a")
	job.AllowBetter = true
	job.Scenario.Expect = map[string]string{checker.MutualExclusion: history.Violated}
	done := runFake(t.Context(), onFake(1), []Job{job}, lateOverlapOnce, func(Result) {})[0]
	requireStanding(t, done, Inconclusive, "mutual-exclusion: expected violated, got inconclusive")
	require.Equal(t, 2, done.Attempts)
}

func TestUnreachedSituation_IsRetriedAlone(t *testing.T) {
	for failing, want := range map[int]Standing{1: AsExpected, 9: Inconclusive} {
		performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
			events := granted(p, result)
			if result.Attempts <= failing {
				unmet := history.Event{Time: 1, Process: "harness", Type: history.TypeNote,
					Reason: history.ReasonPreconditionFailed, Text: "c1's acquire had to succeed, and failed"}
				events = slices.Insert(events, 1, unmet)
			}
			return events
		})
		trials := runFake(t.Context(), onFake(1), []Job{plain("a")}, performer, func(Result) {})
		requireStanding(t, trials[0], want, "")
		require.Equal(t, 2, trials[0].Attempts)
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
