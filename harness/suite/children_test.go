package suite

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

// runInChildren runs jobs in children with that progress timeout.
func runInChildren(t *testing.T, timeout time.Duration, jobs []Job, o Options) []Result {
	t.Helper()
	c := &Children{ProgressTimeout: timeout}
	defer c.Close()
	trials, err := c.Run(context.Background(), jobs, o, func(Result) {})
	require.NoError(t, err)
	return trials
}

func jobsOf(t *testing.T, o Options, names ...string) []Job {
	t.Helper()
	list, err := scenarios.Select(names)
	require.NoError(t, err)
	jobs, err := o.Jobs(list)
	require.NoError(t, err)
	return jobs
}

// The rows before and after it are judged.
func TestHostileLock_FailsOnlyItsTrial(t *testing.T) {
	needs.Long(t, "its locks hang, spin and eat memory in real time")
	for name, words := range map[string]string{
		"panics":          "panic: the lock is broken, in example.org/lockproof/harness/suite.init.func",
		"panics-aside":    "panic: broken in the background",
		"exits-as-fine":   "exit status 0",
		"exits-as-1":      "exit status 1",
		"exits-as-2":      "exit status 2",
		"spins":           "no progress in 1s of real time, after ",
		"blocks-in-mutex": "waits for a mutex in example.org/lockproof/harness/suite.",
		"eats-memory":     "more than 1024 MB of memory",
		"breaks-a-mutex":  "fatal error: sync: unlock of unlocked mutex, in example.org/lockproof/harness/suite.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Cluster: Virtual, Trials: 2, Seed: 5, Out: t.TempDir(), Parallel: 1}
			jobs := jobsOf(t, o, "flushall")
			jobs = append(jobs, Job{Scenario: jobs[0].Scenario, AllowBetter: true, Lock: name}, jobs[0])
			timeout := 20 * time.Second
			if name == "spins" || name == "blocks-in-mutex" {
				timeout = time.Second
			}
			trials := runInChildren(t, timeout, jobs, o)
			require.Len(t, trials, 6)
			for i, trial := range trials {
				if i != 2 && i != 3 {
					requireStanding(t, trial, AsExpected, "")
					continue
				}
				requireStanding(t, trial, HarnessError, words)
				require.NotContains(t, trial.Failure, "\n")
				require.Equal(t, "lockproof run flushall --lock "+name+" --seed "+[]string{"5", "6"}[i-2], trial.Repeat)
			}
		})
	}
}

// Its caller cancels, and the trial shows that it does not return.
func TestLock_BlocksForEver_ViolatesCancellation(t *testing.T) {
	o := Options{Cluster: Virtual, Trials: 1, Seed: 5, Parallel: 1}
	jobs := jobsOf(t, o, "flushall")
	jobs[0].Lock, jobs[0].AllowBetter = "blocks-all", true
	requireStanding(t, runInChildren(t, 0, jobs, o)[0], Differs, "cancellation: violated")
}

// A bubble's leftovers crash the process in a later trial. That trial runs again in a new child, with the same result
// as alone.
func TestCrash_DoesNotFailTheNextTrial(t *testing.T) {
	o := Options{Cluster: Virtual, Trials: 3, Seed: 5, Parallel: 1}
	jobs := jobsOf(t, o, "flushall")
	jobs[0].Lock, jobs[0].AllowBetter = "leaks", true
	for _, trial := range runInChildren(t, 0, jobs, o) {
		requireStanding(t, trial, LimitOfClass, "")
	}
}

func TestChildrenRun_Cancelled_JudgesRunningTrialSoFar(t *testing.T) {
	o := Options{Cluster: Virtual, Trials: 1, Seed: 1, Out: t.TempDir(), Parallel: 1}
	jobs := jobsOf(t, o, "healthy-contention")
	day := *jobs[0].Scenario
	w := *day.Workload
	w.For = scenarios.Span{Fixed: 24 * time.Hour}
	day.Workload = &w
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c := &Children{}
	trials, err := c.Run(ctx, []Job{{Scenario: &day}, jobs[0]}, o, func(Result) {})
	require.NoError(t, err)
	require.Len(t, trials, 1)
	require.Empty(t, trials[0].Failure)
	require.Equal(t, history.Inconclusive, trials[0].verdict(checker.MutualExclusion))
	require.Less(t, trials[0].Simulated, 24*time.Hour)
	require.FileExists(t, filepath.Join(o.Out, trials[0].History))

	// The next run, perhaps in the same child, is not cancelled.
	trials, err = c.Run(context.Background(), jobsOf(t, o, "flushall"), o, func(Result) {})
	require.NoError(t, err)
	c.Close()
	requireStanding(t, trials[0], AsExpected, "")
}

func TestLockOutput_DoesNotReachTheProtocol(t *testing.T) {
	var said strings.Builder
	o := Options{Cluster: Virtual, Trials: 1, Seed: 5, Parallel: 1}
	jobs := jobsOf(t, o, "flushall")
	jobs[0].Lock, jobs[0].AllowBetter = "prints", true
	c := &Children{Stderr: &said}
	trials, err := c.Run(context.Background(), jobs[:1], o, func(Result) {})
	require.NoError(t, err)
	c.Close()
	requireStanding(t, trials[0], LimitOfClass, "")
	require.Contains(t, said.String(), "panic: just talking\n")
	require.Contains(t, said.String(), "hello\n")
}

func TestCrashLog(t *testing.T) {
	const trace = "\ngoroutine 7 [running]:\n"
	for _, c := range []struct{ name, written, words, said string }{
		{"nothing", "", "", ""},
		{"a last line", "starting\nit is over\n\n", "it is over", "starting\nit is over\n\n"},
		{"without an end", "half a line", "half a line", "half a line"},
		{"a panic", "hello\npanic: boom" + trace + "my/lock.(*Lock).Acquire(0xc000, {0x1, 0x2})\n\t/src/lock.go:33 +0x1\n",
			"panic: boom, in my/lock.(*Lock).Acquire", "hello\n"},
		{"a panic that was passed on", "panic: boom [recovered, repanicked]" + trace +
			"sync.(*WaitGroup).Go.func1.1()\n\twg.go:1\npanic({0x1, 0x2})\n\tpanic.go:2\n" +
			"my/lock.take(...)\n\tlock.go:3\ncreated by my/other.Start in goroutine 1\n", "panic: boom, in my/lock.take", ""},
		{"a fatal error", "fatal error: sync: unlock of unlocked mutex\n\ngoroutine 7 gp=0xc " +
			"[running]:\ninternal/sync.fatal({0x1})\n\tpanic.go\nsync.(*Mutex).Unlock(...)\n\tm.go\nmain.f()\n",
			"fatal error: sync: unlock of unlocked mutex, in main.f", ""},
		{"talk that begins like a panic", "panic: not really\n" + strings.Repeat("more\n", 8) + "end\n", "end",
			"panic: not really\n" + strings.Repeat("more\n", 8) + "end\n"},
		{"a long line", strings.Repeat("x", 3*lineLength) + "\n", strings.Repeat("x", lineLength),
			strings.Repeat("x", 3*lineLength) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var said strings.Builder
			w := &crashLog{passThrough: &said}
			for _, b := range []byte(c.written) { // the result does not depend on the sizes of the writes
				n, err := w.Write([]byte{b})
				require.NoError(t, err)
				require.Equal(t, 1, n)
			}
			require.Equal(t, c.words, w.end())
			require.Equal(t, c.said, said.String())
		})
	}
}
