package external

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

// kit is a kit with an adapter: its command, the check of its requirements, and a part of its lock's name.
type kit struct {
	need          needs.Need
	probe, worker []string
	name          string
	extends, one  bool
}

// kits need only Debian's packages.
var kits = map[string]kit{
	"redis-py": {needs.Python, []string{python, "-c", "import redis"},
		[]string{python, "../../tools/kits/python/redis_py.py"}, "redis-py ", true, true},
	"Symfony's": {needs.PHP, []string{"php", "-r", "new Redis; require 'Symfony/Component/Lock/autoload.php';"},
		[]string{"php", "../../tools/kits/php/symfony_lock.php"}, "symfony/lock", true, true},
	"malkusch's": {needs.PHP, []string{"php", "-r", "new Redis; require 'Malkusch/Lock/autoload.php';"},
		[]string{"php", "../../tools/kits/php/malkusch_lock.php"}, "malkusch/lock", false, false},
	"redis-rb": {needs.Ruby, []string{"ruby", "-e", "require 'redis'"},
		[]string{"ruby", "../../tools/kits/ruby/redis_rb.rb"}, "redis-rb ", true, true},
	"node-redis": {needs.Node, []string{"node", "-e", "require('redis')"},
		[]string{"node", "../../tools/kits/node/node_redis.js"}, "node-redis", true, true},
	"Java's": {needs.Java, []string{"javac", "-version"},
		[]string{"java", "-cp", classes, "DocumentedLock"}, "Java, documented", true, true},
}

// classes is a placeholder for the folder of compiled Java classes.
const classes = "{classes}"

// python is Debian's, which finds Debian's redis-py.
const python = "/usr/bin/python3"

// debianNode is the path of Debian's libraries for Node, which another Node does not search.
const debianNode = "/usr/share/nodejs"

func TestKits_KeepToTheProtocol(t *testing.T) {
	t.Setenv("NODE_PATH", debianNode)
	for name, kit := range kits {
		t.Run(name, func(t *testing.T) {
			worker := kit.ready(t)
			var lines strings.Builder
			require.NoError(t, Check(context.Background(), worker, &lines), "%s", &lines)
			require.Contains(t, lines.String(), "ok      stall: it is reported after SIGSTOP")
			require.Contains(t, lines.String(), "skip    clock")
			kind, err := Kind(context.Background(), worker, false)
			require.NoError(t, err)
			require.NoError(t, kind.Err)
			require.Contains(t, kind.Name, kit.name)
			require.Equal(t, kit.extends, kind.Extends)
			require.Equal(t, kit.one, kind.SingleNode)
			require.False(t, kind.Watches)
		})
	}
}

// Real locks in real processes: a holder is killed, a paused one writes too late, and a store compares versions.
func TestKits_LocksHaveExpectedVerdicts(t *testing.T) {
	t.Setenv("NODE_PATH", debianNode)
	needs.Check(t, needs.Redis, local.Available(""))
	// A lease with a TTL from the return outlasts its key by the acquire's duration: on a busy machine another client
	// may acquire the lock in that time. So only the late write of client-pause is checked.
	want := map[string]map[string]string{
		"holder-crashes":      {checker.DeadlockFreedom: history.Holds},
		"client-pause":        {checker.ProtectedData: history.Violated},
		"token-check-and-set": {checker.ProtectedData: history.Holds},
		// The setup of one client has a prefix for its keys.
		"mixed-versions": {checker.MutualExclusion: history.Violated},
	}
	for _, name := range []string{"redis-py", "malkusch's", "node-redis", "redis-rb", "Java's"} {
		t.Run(name, func(t *testing.T) {
			for _, trial := range kits[name].run(t, slices.Sorted(maps.Keys(want))...) {
				_, why, stalled := standingOf(t, trial)
				if stalled {
					continue
				}
				for property, verdict := range want[trial.Scenario] {
					require.Equal(t, verdict, verdictOf(trial, property), "%s, %s: %s", trial.Name(), property, why)
				}
			}
		})
	}
}

// standingOf also reports whether a busy machine stalled the trial, for which the kit is not to blame.
func standingOf(t *testing.T, trial suite.Result) (standing suite.Standing, why string, stalled bool) {
	standing, why = trial.Standing()
	if stalled = standing == suite.Inconclusive && strings.Contains(why, "stalled: "); stalled {
		t.Logf("%s: %s", trial.Name(), why)
	}
	return standing, why, stalled
}

// verdictOf is a trial's verdict on a property, "" if it was not judged.
func verdictOf(trial suite.Result, property string) string {
	for _, r := range trial.Results {
		if r.Property == property {
			return r.Verdict
		}
	}
	return ""
}

// By threads, on Node by promises; PHP has neither and declares that.
func TestKits_RunTwoOperationsAtOnce(t *testing.T) {
	t.Setenv("NODE_PATH", debianNode)
	needs.Check(t, needs.Redis, local.Available(""))
	for _, name := range []string{"redis-py", "node-redis", "redis-rb", "Java's"} {
		t.Run(name, func(t *testing.T) {
			if standing, why, stalled := standingOf(t, kits[name].run(t, "shared-lock-object")[0]); !stalled {
				require.Equal(t, suite.AsExpected, standing, why)
			}
		})
	}
	t.Run("PHP", func(t *testing.T) {
		standing, why := kits["Symfony's"].run(t, "shared-lock-object")[0].Standing()
		require.Equal(t, suite.Skipped, standing)
		require.Contains(t, why, "symfony/lock: PHP has no threads: one process does one thing at a time")
	})
}

// run runs scenarios with the kit's lock, one trial each.
func (k kit) run(t *testing.T, names ...string) []suite.Result {
	t.Helper()
	worker := k.ready(t)
	kind, err := Kind(context.Background(), worker, false)
	require.NoError(t, err)
	return trialsOf(t, kind, worker, names...)
}

// trialsOf runs scenarios with a worker's lock, one trial each.
func trialsOf(t *testing.T, kind locks.Kind, worker []string, names ...string) []suite.Result {
	t.Helper()
	if _, err := locks.Find(kind.Name); err != nil {
		locks.Register(kind)
	}
	o := suite.Options{Cluster: suite.Local, Trials: 1, Seed: 1, Lock: kind.Name,
		Choice: cluster.Choice{Worker: worker}, Out: t.TempDir(),
		Parallel: 1, Retries: suite.DefaultRetries}
	selected, err := scenarios.Select(names)
	require.NoError(t, err)
	jobs, err := o.Jobs(selected)
	require.NoError(t, err)
	trials, err := suite.Run(context.Background(), jobs, o, func(suite.Result) {})
	require.NoError(t, err)
	require.Len(t, trials, len(names))
	return trials
}

// ready returns the command that starts the kit. It skips the test if the kit's language or library is missing.
func (k kit) ready(t *testing.T) []string {
	t.Helper()
	said, err := exec.Command(k.probe[0], k.probe[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(k.probe, " "), err, said)
	}
	needs.Check(t, k.need, err)
	at := slices.Index(k.worker, classes)
	if at < 0 {
		return k.worker
	}
	worker := slices.Clone(k.worker)
	worker[at] = t.TempDir()
	compile := exec.Command("javac", "--release", "17", "-d", worker[at], "../../tools/kits/java/LockproofWorker.java",
		"../../tools/kits/java/DocumentedLock.java")
	said, err = compile.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return worker
}

// failing are adapters in testdata whose acquire fails two calls deep, with the adapter's line that the kit called.
var failing = map[string]struct{ file, at string }{
	"redis-py":   {"failing.py", "ValueError: nothing (failing.py:7)"},
	"node-redis": {"failing.js", "Error: nothing (failing.js:6)"},
	"redis-rb":   {"failing.rb", "RuntimeError: nothing (failing.rb:6)"},
	"Symfony's":  {"failing.php", "Error: Call to undefined function nothing() (failing.php:6)"},
	"Java's":     {"Failing.java", "IllegalStateException: nothing (Failing.java:4)"},
}

// besideTheKits copies an adapter from testdata beside the kits' sources, and returns its path.
func besideTheKits(t *testing.T, adapter string) (file string) {
	t.Helper()
	folder := t.TempDir()
	sources, err := filepath.Glob("../../tools/kits/*/*ockproof*orker.*")
	require.NoError(t, err)
	for _, source := range append(sources, filepath.Join("testdata", "adapters", adapter)) {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(source)), text, 0o644))
	}
	return filepath.Join(folder, adapter)
}

// adapterCommand starts an adapter from testdata on a kit. It skips the test without the kit's language.
func adapterCommand(t *testing.T, name, adapter string) []string {
	t.Helper()
	file := besideTheKits(t, adapter)
	folder := filepath.Dir(file)
	command := []string{kits[name].probe[0], file}
	if name == "Java's" {
		needs.Check(t, needs.Java, exec.Command("javac", "-version").Run())
		said, err := exec.Command("javac", "-d", folder, filepath.Join(folder, "LockproofWorker.java"),
			file).CombinedOutput()
		require.NoError(t, err, "%s", said)
		command = []string{"java", "-cp", folder, strings.TrimSuffix(adapter, ".java")}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		needs.Check(t, kits[name].need, err)
	}
	return command
}

func TestKits_AdapterFails_ErrorNamesTheLine(t *testing.T) {
	for name, adapter := range failing {
		t.Run(name, func(t *testing.T) {
			m := oneClient(t, adapterCommand(t, name, adapter.file)...)
			require.NoError(t, m.acquire(t, 50*time.Millisecond, 10*time.Second))
			require.Equal(t, adapter.at, m.events[len(m.events)-1].Error)
		})
	}
}

// A validity that the lock prolongs by itself is a longer lease. PHP has no threads that could prolong it.
func TestKits_LockRenewsItself_LeaseLastsAsLongAsItsValidity(t *testing.T) {
	const validity = 50 * time.Millisecond // of the adapters' leases
	for name, adapter := range map[string]string{"redis-py": "renewing.py", "node-redis": "renewing.js",
		"redis-rb": "renewing.rb", "Java's": "Renewing.java"} {
		t.Run(name, func(t *testing.T) {
			b, err := newBench(t.Context(), adapterCommand(t, name, adapter))
			require.NoError(t, err)
			defer b.close()
			b.renews = true
			m, err := b.client(0)
			require.NoError(t, err)
			_, err = m.send(client.Command{Do: client.DoAcquire, Key: "k1", Within: time.Second})
			require.NoError(t, err)
			extensions := func() (n int) {
				for _, e := range m.events {
					if e.Op == history.OpExtend && e.Type == history.TypeOK && e.Lease == 1 && e.Validity > 0 {
						n++
					}
				}
				return n
			}
			require.NoError(t, m.until(10*time.Second, func() bool { return extensions() > 1 }))
			serial, err := m.send(client.Command{Do: client.DoRelease, Key: "k1"})
			require.NoError(t, err)
			_, err = m.await(serial, 10*time.Second)
			require.NoError(t, err)
			var atRelease int
			require.NoError(t, m.until(time.Second, func() bool { atRelease = extensions(); return true }))
			goesOn := m.until(4*validity, func() bool { return extensions() > atRelease+1 })
			require.ErrorIs(t, goesOn, errTimeout)
		})
	}
}

// Most libraries return false instead of an error. Nothing declares a belief here, so the lease's validity decides.
func TestKits_ExtendReturnsFalse_Fails(t *testing.T) {
	for name, adapter := range map[string]string{"redis-py": "renewing.py", "node-redis": "renewing.js",
		"redis-rb": "renewing.rb", "Symfony's": "renewing.php"} {
		t.Run(name, func(t *testing.T) {
			m := oneClient(t, adapterCommand(t, name, adapter)...)
			require.NoError(t, m.acquire(t, time.Second, 10*time.Second))
			require.EqualValues(t, 50*time.Millisecond, m.events[len(m.events)-1].Validity)
			serial, err := m.send(client.Command{Do: client.DoExtend, Key: "k1", Within: time.Second})
			require.NoError(t, err)
			end, err := m.await(serial, 10*time.Second)
			require.NoError(t, err)
			require.Equal(t, history.TypeFail, end.Outcome)
			require.Contains(t, strings.ToLower(m.events[len(m.events)-1].Error), "returned false")
		})
	}
}

// An exception outside an operation of the lock makes the command impossible.
func TestPythonKit_ValidityFails_ErrorNamesTheLine(t *testing.T) {
	requireWrong(t, "KeyError: 'until' (failing_validity.py:4)", "failing_validity.py")
}

// requireWrong requires that worker-check refuses a Python adapter with such a text.
func requireWrong(t *testing.T, text, adapter string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	command := append(adapterCommand(t, "redis-py", adapter), args...)
	require.ErrorIs(t, Check(t.Context(), command, &out), ErrWrong)
	require.Contains(t, out.String(), text)
}

// Such workers get false verdicts: a grant with the time of its call overlaps the lease before it, and without the
// prefix two versions of a lock are one.
func TestCheck_WorkerWouldGetFalseVerdicts_Fails(t *testing.T) {
	for name, want := range map[string]string{
		"early":  "before c1 was told to release: read the time of an outcome after the call",
		"prefix": "failed  acquire: a held key is free behind another key_prefix: ",
	} {
		t.Run(name, func(t *testing.T) {
			requireWrong(t, want, "by_hand.py", name)
		})
	}
}

func TestPythonKit_WrongAdapter_ErrorNamesTheMistake(t *testing.T) {
	for name, want := range map[string]string{
		"false":       "its reason is: held", // a free way to say None
		"true":        "TypeError: acquire returned True: want a lease, of the class Lease",
		"exit":        "c1 calls the command impossible: SystemExit: 7 (wrong.py:14)",
		"raises once": "its reason is: ValueError: first (wrong.py:16)",
		"validity":    "TypeError: validity() returned None: want its remaining seconds",
		"belief":      "invalid belief 'from call': want one of ['from the call', ",
	} {
		t.Run(name, func(t *testing.T) {
			requireWrong(t, want, "wrong.py", name)
		})
	}
}

// The row fails with the error of worker-check, without a verdict on the lock.
func TestRun_BadWorker_Fails(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	for _, name := range []string{"does nothing", "floods", "dies later"} {
		t.Run(name, func(t *testing.T) {
			worker := []string{os.Args[0], "bad-worker", name}
			kind, err := Kind(context.Background(), worker, false)
			require.NoError(t, err)
			kind.SingleNode = true
			failed := trialsOf(t, kind, worker, "token-check-and-set")[0]
			require.Contains(t, failed.Failure, bad[name].want)
			require.Empty(t, failed.Judgements())
		})
	}
}
