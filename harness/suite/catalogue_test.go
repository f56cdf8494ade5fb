package suite

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/redlock"
	"example.org/lockproof/scenarios"
)

// catalogue lists every row of the catalogue on a kind of cluster.
func catalogue(t *testing.T, kind string) []Job {
	t.Helper()
	list, err := scenarios.Catalogue()
	require.NoError(t, err)
	jobs, err := Options{Cluster: kind}.Jobs(list)
	require.NoError(t, err)
	return jobs
}

func TestEveryRuleHasAScenario(t *testing.T) {
	list, err := scenarios.Catalogue()
	require.NoError(t, err)
	for _, info := range redlock.Rules() {
		t.Run(string(info.Rule), func(t *testing.T) {
			require.NotEmpty(t, showing(list, string(info.Rule)),
				"no scenario of the catalogue has a property that holds with the reference and is violated without %s alone",
				info.Rule)
		})
	}
}

// showing lists the scenarios that show a rule: with the rule alone off, a property that holds with it is expected to
// be violated. The comparison is with the scenario itself or its variant with the same lock.
func showing(list []*scenarios.Scenario, rule string) []string {
	var names []string
	for _, s := range list {
		for _, v := range s.Variants {
			if !slices.Equal(v.Without, []string{rule}) || !onlyLock(v) {
				continue
			}
			on, off := s.Expect, s.With(v).Expect
			if v.Lock != nil {
				i := slices.IndexFunc(s.Variants, func(w scenarios.Variant) bool {
					return len(w.Without) == 0 && onlyLock(w) && reflect.DeepEqual(w.Lock, v.Lock)
				})
				if i < 0 {
					continue
				}
				on = s.With(s.Variants[i]).Expect
			}
			for property, verdict := range off {
				if verdict == history.Violated && on[property] == history.Holds {
					names = append(names, s.Name)
				}
			}
		}
	}
	return names
}

// onlyLock reports whether a variant changes nothing but the lock and its rules.
func onlyLock(v scenarios.Variant) bool {
	return v.Store == "" && v.Persistence == "" && v.Script == nil
}

func TestCatalogueInVirtualTime(t *testing.T) {
	trials := 3
	if testing.Short() {
		trials = 1 // make test-all runs the other two
	}
	runAsExpected(t, Options{Cluster: Virtual, Trials: trials, Seed: 1})
}

// A row's verdicts depend on the TTL only where the scenario says so.
func TestCatalogueAtOtherTTLs(t *testing.T) {
	needs.Long(t, "it runs the catalogue at three TTLs")
	for _, ttl := range []time.Duration{300 * time.Millisecond, 30 * time.Second, 10 * time.Minute} {
		t.Run(ttl.String(), func(t *testing.T) {
			runAsExpected(t, Options{Cluster: Virtual, Trials: 1, Seed: 1, TTL: ttl})
		})
	}
}

// TestCatalogueOnRealRedis takes minutes of real waiting. Only two rows run at a time: with more on two processors, a
// client took 80 ms to reach its nodes, and was refused for longer than its bound.
func TestCatalogueOnRealRedis(t *testing.T) {
	needRedis(t)
	needs.Long(t, "it runs the catalogue in real time")
	runAsExpected(t, Options{Cluster: Local, Trials: 1, Seed: 1, Parallel: 2, Retries: DefaultRetries})
}

// alone bounds the retries of a row that a busy machine made undecided.
const alone = 3

// runAsExpected runs the whole catalogue and fails with the reason of every unexpected trial. In real time other load
// may make a row undecided: it runs again, and a few rows may stall each time.
func runAsExpected(t *testing.T, o Options) {
	t.Helper()
	jobs := catalogue(t, o.Cluster)
	undecided, heldUp := againstExpected(t, jobs, o)
	if o.Cluster == Virtual {
		require.Empty(t, names(undecided), "nothing but the seed decides in virtual time")
	}
	o.Parallel = 1
	for again := 0; again < alone && len(undecided) > 0; again++ {
		undecided, heldUp = againstExpected(t, undecided, o)
	}
	require.Len(t, undecided, heldUp, "undecided, and not held up, in %d runs by themselves: %v", alone, names(undecided))
	require.Less(t, heldUp, len(jobs)/4, "something else on this machine held these rows up in each of %d runs by "+
		"themselves: "+
		"run `go test -run %s ./harness/suite` when it has ended: %v", alone, t.Name(), names(undecided))
}

// countSkip reports a skipped row as a skipped test if the machine lacks the preload shim's requirements.
func countSkip(t *testing.T, row, on string) {
	t.Helper()
	if lack := local.Kind.Can(cluster.AbilityPowerLoss); on == Local && lack != nil {
		t.Run(row, func(t *testing.T) {
			needs.PlainTemp(t)
			needs.Check(t, needs.Compiler, lack)
		})
	}
}

// againstExpected runs jobs and returns the undecided ones, and how many of them stalled.
func againstExpected(t *testing.T, jobs []Job, o Options) (undecided []Job, heldUp int) {
	t.Helper()
	trials, err := Run(context.Background(), jobs, o, func(Result) {})
	require.NoError(t, err)
	require.Len(t, trials, len(jobs)*o.Trials)
	for i, trial := range trials {
		job := jobs[i/o.Trials]
		require.Equal(t, job.Name(), trial.Name())
		standing, why := trial.Standing()
		// In real time a late client may not meet what breaks the lock; something else that is violated is a difference.
		hidden := standing == Differs && o.Cluster != Virtual && !slices.ContainsFunc(trial.Results, trial.unexpected)
		if hidden {
			standing = Inconclusive
		}
		switch standing {
		case AsExpected:
		case Skipped:
			t.Logf("%s: skipped: %s", trial.Name(), why)
			countSkip(t, trial.Name(), o.Cluster)
		case Inconclusive:
			t.Logf("%s, seed %d: %s: %s", trial.Name(), trial.Seed, standing, why)
			undecided = append(undecided, job)
			if !hidden && hasStall(trial.Results) {
				heldUp++
			}
		default:
			t.Errorf("%s, seed %d: %s: %s", trial.Name(), trial.Seed, standing, why)
		}
	}
	return undecided, heldUp
}

// The forms for locks on one node are not rows of the catalogue, which is for the reference.
func TestFormsForOneNode(t *testing.T) {
	needs.Long(t, "it runs the catalogue with a lock on one node")
	list, err := scenarios.Catalogue()
	require.NoError(t, err)
	var jobs []Job
	for _, s := range list {
		if form := s.OneNode(); form != "" {
			jobs = append(jobs, Job{Scenario: s, Variant: form})
		}
	}
	require.Greater(t, len(jobs), 45)
	undecided, _ := againstExpected(t, jobs, Options{Cluster: Virtual, Trials: 2, Seed: 1})
	require.Empty(t, undecided)

	rows, err := Options{Cluster: Virtual}.Jobs(list)
	require.NoError(t, err)
	for _, row := range rows {
		require.False(t, row.Variant != "" && row.Variant == row.Scenario.OneNode(), row.Name())
	}
}

// In virtual time one seed gives the same bytes and result, in this process or in children, on any number of
// processors.
func TestSameSeedSameHistory(t *testing.T) {
	jobs := catalogue(t, Virtual)
	if testing.Short() {
		jobs = jobs[:len(jobs)/8] // all of them, twice, take a minute
	}
	was := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(was) })
	here, first := histories(t, jobs, Run, 1)
	require.NotEmpty(t, first)
	runtime.GOMAXPROCS(4) // two for each child
	c := &Children{}
	t.Cleanup(c.Close)
	there, second := histories(t, jobs, c.Run, 2)
	require.Equal(t, here, there)
	for name, lines := range first {
		require.Equal(t, "", firstDifference(lines, second[name]), name)
	}
}

// histories runs each job once, and returns the results without their real time, and the files.
func histories(t *testing.T, jobs []Job, run Runner, parallel int) ([]Result, map[string][]byte) {
	t.Helper()
	out := t.TempDir()
	trials, err := run(context.Background(), jobs, Options{Cluster: Virtual, Seed: 7, Out: out, Parallel: parallel},
		func(Result) {})
	require.NoError(t, err)
	files := map[string][]byte{}
	for i, trial := range trials {
		trials[i].Elapsed = 0
		if trial.Skipped != "" {
			continue
		}
		require.Empty(t, trial.Failure, trial.Name())
		files[trial.Name()], err = os.ReadFile(filepath.Join(out, trial.History))
		require.NoError(t, err, trial.Name())
	}
	return trials, files
}

// firstDifference is the first line in which two histories differ, "" if they are equal.
func firstDifference(a, b []byte) string {
	if bytes.Equal(a, b) {
		return ""
	}
	as, bs := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d:\n%s\n%s", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(as), len(bs))
}
