package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	_ "example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/trial"
	"example.org/lockproof/scenarios"
)

// plain is a scenario for the fake performers below.
func plain(name string) Job {
	return Job{Scenario: &scenarios.Scenario{
		Name: name, On: []string{Virtual, Local}, TTL: time.Second, Nodes: []string{"n1"},
		Clients: []scenarios.Client{{Name: "c1"}},
		Expect:  map[string]string{checker.MutualExclusion: history.Holds},
	}}
}

// granted is the shortest history in which mutual exclusion holds: one lease.
func granted(p *trial.Plan, t *Result) []history.Event {
	header := p.Header("fake 1.0", t.Trial, t.Seed)
	return []history.Event{
		header,
		{Time: 1, Process: "c1", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"},
		{Time: 2, Process: "c1", Type: history.TypeOK, Op: history.OpAcquire, ID: 1, Lease: 1, Key: "k1", Token: "a",
			Validity: 10},
		{Time: 20, Process: "harness", Type: history.TypeEnd},
	}
}

// overlapping is another client's lease in the middle of granted's.
var overlapping = []history.Event{
	{Time: 3, Process: "c2", Type: history.TypeInvoke, Op: history.OpAcquire, ID: 1, Key: "k1"},
	{Time: 4, Process: "c2", Type: history.TypeOK, Op: history.OpAcquire, ID: 1, Lease: 1, Key: "k1", Token: "b",
		Validity: 10},
}

// stall is a stall of the harness in the middle of granted's lease.
var stall = history.Event{Time: 15, Process: "harness", Type: history.TypeStall, Late: int64(time.Second)}

// performer fakes a trial. t has its number, seed and attempt.
type performer func(ctx context.Context, p *trial.Plan, t *Result, j *trial.Journal) (trial.Observed, error)

// fakePerformer records the events that history returns for each trial.
func fakePerformer(history func(p *trial.Plan, t *Result) []history.Event) performer {
	return func(_ context.Context, p *trial.Plan, t *Result, j *trial.Journal) (trial.Observed, error) {
		record(j, history(p, t))
		return trial.Observed{Server: "fake 1.0"}, nil
	}
}

func record(j *trial.Journal, events []history.Event) {
	for _, e := range events {
		j.Record(e)
	}
}

func runFake(ctx context.Context, o Options, jobs []Job, p performer, observe func(Result)) []Result {
	var mu sync.Mutex
	attempts := map[string]int{} // at each trial
	run := func(ctx context.Context, plan *trial.Plan, _ cluster.Maker, number int, seed uint64, j *trial.Journal) (
		trial.Observed, error) {
		mu.Lock()
		attempts[plan.Name+strconv.Itoa(number)]++
		result := Result{Trial: number, Seed: seed, Attempts: attempts[plan.Name+strconv.Itoa(number)]}
		mu.Unlock()
		return p(ctx, plan, &result, j)
	}
	kind, err := cluster.Find(o.Cluster)
	if err != nil {
		panic(err)
	}
	r := &inProcess{kind: kind, run: run}
	trials, err := newPool(o, r.attempt).runAll(ctx, jobs, observe)
	if err != nil {
		panic(err)
	}
	return trials
}

// onFake are options for a fake cluster in real time.
func onFake(trials int) Options { return Options{Cluster: Local, Trials: trials, Seed: 40, Retries: 3} }

func TestRun_ReturnsTrialsInTheOrderOfTheJobs(t *testing.T) {
	o := onFake(3)
	o.Parallel = 4
	var mu sync.Mutex
	var seen []string
	performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
		time.Sleep(time.Duration(10-3*result.Trial) * time.Millisecond) // later trials are quicker
		return granted(p, result)
	})
	trials := runFake(context.Background(), o, []Job{plain("a"), plain("b")}, performer, func(result Result) {
		require.True(t, mu.TryLock(), "observe is called for one trial at a time")
		defer mu.Unlock()
		seen = append(seen, fmt.Sprint(result.Scenario, result.Trial))
	})
	var names []string
	for _, result := range trials {
		requireStanding(t, result, AsExpected, "")
		require.Equal(t, uint64(40+result.Trial), result.Seed)
		require.Equal(t, 1, result.Attempts)
		require.Equal(t, 20*time.Nanosecond, result.Simulated)
		require.Positive(t, result.Elapsed)
		names = append(names, fmt.Sprint(result.Scenario, result.Trial))
	}
	require.Equal(t, []string{"a0", "a1", "a2", "b0", "b1", "b2"}, names)
	require.ElementsMatch(t, names, seen)
	require.NotEqual(t, names, seen, "they did not finish in that order")
}

// The last attempt's history is kept.
func TestStalledTrial_RetriesUsedUp_IsInconclusive(t *testing.T) {
	o := onFake(1)
	o.Out = t.TempDir()
	performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
		last := stall
		last.Late = int64(time.Second) + int64(result.Attempts)
		return append(granted(p, result), last)
	})
	trials := runFake(context.Background(), o, []Job{plain("a")}, performer, func(Result) {})
	requireStanding(t, trials[0], Inconclusive, "")
	require.Equal(t, 1+o.Retries, trials[0].Attempts)
	events := readHistory(t, filepath.Join(o.Out, trials[0].History))
	require.True(t, slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Late == int64(time.Second)+int64(trials[0].Attempts)
	}))
}

func readHistory(t *testing.T, name string) []history.Event {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	events, err := history.Read(file)
	require.NoError(t, err)
	return events
}

func TestRun_ClusterFails_TrialFails(t *testing.T) {
	performer := func(_ context.Context, p *trial.Plan, _ *Result, _ *trial.Journal) (trial.Observed, error) {
		if p.Name == "a" {
			return trial.Observed{}, errors.New("n3 did not start")
		}
		return trial.Observed{}, nil // and no history
	}
	trials := runFake(context.Background(), onFake(1), []Job{plain("a"), plain("b")}, performer, func(Result) {})
	requireStanding(t, trials[0], HarnessError, "n3 did not start")
	requireStanding(t, trials[1], HarnessError, "header")
	require.Equal(t, 1, trials[1].Attempts)
}

// The running trials fail without a retry, although a timeout detected the loss.
func TestRun_ClusterLost_EndsTheRun(t *testing.T) {
	o := onFake(5)
	o.Parallel = 1
	performer := func(_ context.Context, p *trial.Plan, result *Result, j *trial.Journal) (trial.Observed, error) {
		record(j, granted(p, result))
		if result.Trial == 1 {
			return trial.Observed{}, fmt.Errorf("n3: %w (%w)",
				&cluster.Lost{Cluster: cluster.Docker, Why: "the engine is gone", How: "start it again"},
				context.DeadlineExceeded)
		}
		return trial.Observed{}, nil
	}
	trials := runFake(context.Background(), o, []Job{plain("a"), plain("b")}, performer, func(Result) {})
	require.Len(t, trials, 2)
	requireStanding(t, trials[1], HarnessError,
		"n3: the docker cluster is lost: the engine is gone; start it again (context deadline exceeded)")
	require.Equal(t, 1, trials[1].Attempts)
}

func TestRun_ClusterLost_RetriesNoStalledTrial(t *testing.T) {
	o := onFake(1)
	o.Parallel = 1
	performer := func(_ context.Context, p *trial.Plan, result *Result, j *trial.Journal) (trial.Observed, error) {
		record(j, append(granted(p, result), stall))
		if p.Name == "b" {
			return trial.Observed{}, &cluster.Lost{Cluster: cluster.Docker, Why: "the engine is gone"}
		}
		return trial.Observed{}, nil
	}
	trials := runFake(context.Background(), o, []Job{plain("a"), plain("b"), plain("c")}, performer, func(Result) {})
	require.Len(t, trials, 2)
	requireStanding(t, trials[0], Inconclusive, "stalled")
	require.Equal(t, 1, trials[0].Attempts)
	requireStanding(t, trials[1], HarnessError, "the engine is gone")
}

// Running trials are judged by their events so far; the others do not run.
func TestRun_CancelledDuringTrials_JudgesRunningTrials(t *testing.T) {
	o := onFake(5)
	o.Parallel, o.Out = 1, t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	performer := func(ctx context.Context, p *trial.Plan, result *Result, j *trial.Journal) (trial.Observed, error) {
		events := granted(p, result)
		record(j, events[:3])
		if result.Trial == 1 {
			cancel()
			return trial.Observed{}, ctx.Err()
		}
		j.Record(events[3])
		return trial.Observed{}, nil
	}
	trials := runFake(ctx, o, []Job{plain("a")}, performer, func(Result) {})
	require.Len(t, trials, 2)
	require.Empty(t, trials[1].Failure)
	require.NotEmpty(t, trials[1].Results, "judged by what it saw")
	require.Equal(t, 1, trials[1].Attempts, "and not tried again")
}

// The reference violates this row too: a limit of the class must not look like a bug. Nor must it if the machine was
// also too slow for a bound.
func TestRun_CancelledDuringViolatedTrial_StillRunsReference(t *testing.T) {
	for name, violated := range map[string]attempt{
		"an overlap": func(p *trial.Plan, r *Result) []history.Event { return append(granted(p, r)[:3], overlapping...) },
		"an overlap beside a broken bound": func(p *trial.Plan, r *Result) []history.Event {
			return append(late(p, r)[:3], overlappingLate...)
		},
	} {
		o := onFake(1)
		ctx, cancel := context.WithCancel(t.Context())
		performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
			cancel()
			return violated(p, result)
		})
		jobs := jobsOf(t, o, "flushall")
		jobs[0].Lock, jobs[0].AllowBetter = "redsync", true
		done := runFake(ctx, o, jobs[:1], performer, func(Result) {})[0]
		require.Equal(t, history.Violated, done.verdict(checker.MutualExclusion), name)
		require.Equal(t, history.Inconclusive, done.verdict(checker.FaultTolerance), name)
		requireStanding(t, done, LimitOfClass, "as by the reference of its class")
	}
}

func TestRun_CancelledBeforeClusterStarts_JudgesNothing(t *testing.T) {
	o := onFake(5)
	o.Parallel, o.Out = 1, t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	performer := func(ctx context.Context, _ *trial.Plan, _ *Result, _ *trial.Journal) (trial.Observed, error) {
		cancel()
		return trial.Observed{}, ctx.Err()
	}
	trials := runFake(ctx, o, []Job{plain("a")}, performer, func(Result) {})
	require.Len(t, trials, 1)
	requireStanding(t, trials[0], Inconclusive, "")
	require.Empty(t, trials[0].History, "there is no history of nothing")
	require.NoDirExists(t, filepath.Join(o.Out, "trials", "a"))
}

func TestRun_CancelledOnRealRedis_JudgesRunningTrial(t *testing.T) {
	needRedis(t)
	o := Options{Cluster: Local, Trials: 1, Seed: 1, TTL: 3 * time.Second, Out: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), 1500*time.Millisecond)
	defer cancel()
	trials, err := Run(ctx, []Job{{Scenario: load(t, "healthy-contention")}}, o, func(Result) {})
	require.NoError(t, err)
	require.Len(t, trials, 1)
	require.Less(t, trials[0].Simulated, 9*time.Second, "the workload goes on for 18 s")
	require.Empty(t, trials[0].Failure)
	require.NotEqual(t, history.Violated, trials[0].verdict(checker.MutualExclusion))
	require.Greater(t, trials[0].Simulated, 500*time.Millisecond)
	require.FileExists(t, filepath.Join(o.Out, trials[0].History))
}

// A missing violation is what a reader most wants to examine.
func TestHistories_KeepsFirstViolatedAndUnexpected(t *testing.T) {
	const first, second, third = "trials/a/000/history.jsonl", "trials/a/001/history.jsonl", "trials/a/002/history.jsonl"
	performer := fakePerformer(func(p *trial.Plan, result *Result) []history.Event {
		events := granted(p, result)
		if result.Trial == 2 { // another client's lease overlaps the first one
			events = append(events, overlapping...)
		}
		return events
	})
	for expected, kept := range map[string][]string{history.Holds: {first, "", third},
		history.Violated: {first, second, third}} {
		o, job := onFake(3), plain("a")
		o.Out, job.Scenario.Expect[checker.MutualExclusion] = t.TempDir(), expected
		trials := runFake(context.Background(), o, []Job{job}, performer, func(Result) {})
		for i, want := range kept {
			require.Empty(t, trials[i].Failure)
			require.Equal(t, want, trials[i].History, "trial %d, expected %s", i, expected)
			if want != "" {
				require.FileExists(t, filepath.Join(o.Out, want))
			} else {
				require.NoDirExists(t, filepath.Join(o.Out, filepath.Dir(second)))
			}
		}
	}
}

func TestUnwritableOutputFolder_IsAFailure(t *testing.T) {
	o := onFake(1)
	o.Out = filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(o.Out, nil, 0o600))
	trials := runFake(context.Background(), o, []Job{plain("a")}, fakePerformer(granted), func(Result) {})
	require.Contains(t, trials[0].Failure, "not a directory")
	require.Empty(t, trials[0].History)
}

func TestRun_UnknownNames_Fails(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Cluster: "vitual"}, `no cluster named "vitual": there are virtual, local`},
		{Options{Cluster: Virtual, Lock: "redlok"}, "redlok"},
		{Options{Cluster: Virtual, Without: []string{"Majorty"}}, "no rule named \"Majorty\""},
		{Options{Cluster: Virtual, Lock: "redsync", Without: []string{"Majority"}},
			"--without Majority: redsync has no rules to switch off: --lock redlock has them"},
		{Options{Cluster: Virtual, Lock: "redlock", Without: []string{"Majority", "RestartGuard"}},
			"--without RestartGuard: redlock has no restart guard to switch off: --lock redlock-guarded has one"},
	} {
		_, err := Run(context.Background(), nil, c.o, func(Result) {})
		require.ErrorContains(t, err, c.want)
		_, err = c.o.Jobs(nil)
		require.ErrorContains(t, err, c.want)
	}
}
