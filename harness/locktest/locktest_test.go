package locktest_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster/local"
	"lockproof/harness/locktest"
	"lockproof/internal/needs"
)

// victimsVariable lets TestVictims run: its subtests are of bad locks, and fail.
const victimsVariable = "LOCKPROOF_TEST_VICTIMS"

// run is what came of one test in a process and a folder of its own.
type run struct {
	output, folder string
	passed         bool
}

// inProcess runs tests of this binary that may fail.
func inProcess(t *testing.T, folder, pattern string, flags ...string) run {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	var names []string
	for name := range strings.SplitSeq(pattern, "/") {
		names = append(names, "^"+name+"$")
	}
	cmd := exec.CommandContext(t.Context(), self, append([]string{"-test.run=" + strings.Join(names, "/"), "-test.v",
		"-test.timeout=2m"}, flags...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), victimsVariable+"=1", "TMPDIR="+folder)
	output, err := cmd.CombinedOutput()
	return run{string(output), folder, err == nil}
}

// victim runs one of TestVictims.
func victim(t *testing.T, name string) run {
	t.Helper()
	r := inProcess(t, t.TempDir(), "TestVictims/"+name)
	require.NotContains(t, r.output, "test timed out")
	require.Contains(t, r.output, "TestVictims/"+name)
	return r
}

// failed requires that exactly these scenarios failed.
func (r run) failed(t *testing.T, test string, scenarios ...string) {
	t.Helper()
	var failed []string
	for _, m := range regexp.MustCompile(`--- FAIL: `+regexp.QuoteMeta(test)+`/([^/ ]+) `).FindAllStringSubmatch(r.output, -1) {
		failed = append(failed, m[1])
	}
	require.ElementsMatch(t, scenarios, failed, r.output)
	require.Equal(t, len(scenarios) == 0, r.passed, r.output)
}

func (r run) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.output, text) {
			t.Fatalf("nothing says %q:\n%s", text, r.output)
		}
	}
}

// The catalogue in virtual time, with a lock that does what can be done.
func TestAGoodLockPasses(t *testing.T) {
	locktest.Run(t, good)
}

func TestABeliefThatNobodyDeclaredIsTheShortest(t *testing.T) {
	locktest.Run(t, majority, locktest.Scenarios("slow-acquire", "pause-in-acquire"))
}

func TestWithoutAnElapsedCheckTheStoryIsTold(t *testing.T) {
	r := victim(t, "from-return")
	r.failed(t, "TestVictims/from-return", "slow-acquire", "pause-in-acquire")
	r.says(t, "--- FAIL: TestVictims/from-return/slow-acquire/seed=7", "--- PASS: TestVictims/from-return/healthy-contention/seed=8",
		"mutual-exclusion: expected holds, got violated", "the return of Acquire: declared by the adapter",
		"░ asking   █ holding")
	for _, file := range []string{"history", "page"} {
		path := regexp.MustCompile(file + `: +(/\S+)`).FindStringSubmatch(r.output)
		require.NotNil(t, path, r.output)
		require.FileExists(t, path[1])
		if file == "history" {
			require.FileExists(t, filepath.Join(filepath.Dir(path[1]), "timeline.svg"))
		}
	}
	schedules, err := filepath.Glob(filepath.Join(r.folder, "testdata/lockproof/TestVictims/from-return/*.yaml"))
	require.NoError(t, err)
	require.Len(t, schedules, 4)

	// What was found is tried first from now on, also where it is not asked for.
	again := inProcess(t, r.folder, "TestVictims/from-return/replay")
	require.False(t, again.passed)
	again.says(t, "--- FAIL: TestVictims/from-return/replay/slow-acquire-seed-7")
	one := inProcess(t, r.folder, "TestVictims/from-return/late-release/seed=7")
	require.True(t, one.passed, one.output)
	require.Equal(t, 1, strings.Count(one.output, "/seed="+"7 ("), one.output)
}

func TestALockOnOneServerRunsWhatMakesSenseOnOne(t *testing.T) {
	locktest.Run(t, onOne(rand.Text, owned), safety)
	for name, failing := range map[string][]string{
		"plain-del": {"release-by-plain-del", "late-release", "release-by-get-then-del", "partition-during-contention",
			"shared-lock-object"},
		"same-token": {"release-by-plain-del", "late-release", "release-by-get-then-del", "partition-during-contention",
			"shared-lock-object"},
		"on-one-from-return": {"slow-acquire", "pause-in-acquire", "drift-within-margin", "short-ttl"},
	} {
		t.Run(name, func(t *testing.T) { victim(t, name).failed(t, "TestVictims/"+name, failing...) })
	}
}

// A lock that takes its key by a script meets the same faults as one that does by SET.
func TestALockThatTakesByAScript(t *testing.T) {
	victim(t, "by-script-one-token").failed(t, "TestVictims/by-script-one-token", "late-release")
	r := victim(t, "by-script-fresh-tokens")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/by-script-fresh-tokens/late-release/seed=1",
		"--- PASS: TestVictims/by-script-fresh-tokens/slow-acquire/seed=1")
}

// A lock that goes on when its caller has given up is told so, whether it comes to an end
// or not.
func TestALockThatIgnoresItsContext(t *testing.T) {
	for bad, ends := range map[string]string{"deaf": "it returned at", "stuck": "it had not returned at"} {
		r := victim(t, bad)
		r.failed(t, "TestVictims/"+bad, "cancelled-wait")
		r.says(t, "cancellation: expected holds, got violated", ends, "c2's caller gives up", "blame: the assumption that the lock heeds its caller's context")
	}
}

// A lock that waits for all of its nodes fails where that is what a scenario is about, and
// nowhere else: others begin with clients that reach some of them only.
func TestALockThatWaitsForAllNodesFailsOnce(t *testing.T) {
	r := victim(t, "patient")
	r.failed(t, "TestVictims/patient", "hung-node")
	const why = "unstaged: the lock does not lock while a node hangs"
	require.Equal(t, 3, strings.Count(r.output, why), r.output)

	// One that asks them in turn has asked nobody else then.
	r = victim(t, "in-turn")
	r.failed(t, "TestVictims/in-turn")
	require.Equal(t, 4, strings.Count(r.output, why), r.output)
}

// Fencing tokens are checked by the store, and judged.
func TestALockWithFencingTokens(t *testing.T) {
	r := victim(t, "fence-grows")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/fence-grows/client-pause-fenced/seed=1")
	for _, bad := range []string{"fence-shrinks", "fence-stays"} {
		r := victim(t, bad)
		r.failed(t, "TestVictims/"+bad, "client-pause-fenced")
		r.says(t, "fencing: expected holds, got violated")
	}
	victim(t, "no-fence").says(t, "issues no fencing tokens, which this scenario's store checks")
}

// Keys that have another name on the servers are known by the adapter's word.
func TestKeysOfOtherNames(t *testing.T) {
	r := victim(t, "prefixed")
	r.failed(t, "TestVictims/prefixed", "release-by-plain-del")
	r.says(t, "c1's key expires on n1")
}

// A lease whose context ends is watched from the grant on.
func TestAContextThatEndsWithTheLeaseEndsTheBelief(t *testing.T) {
	r := victim(t, "told-in-time")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/told-in-time/watchdog-cut-off/seed=1")
	r = victim(t, "told-too-late")
	r.failed(t, "TestVictims/told-too-late", "watchdog-cut-off")
	r.says(t, "until they release it: declared by the adapter")
}

// In real time each client is a process of its own: the test binary as a worker.
func TestOnRealRedis(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	few := locktest.Scenarios("client-pause", "release-by-plain-del")
	locktest.Run(t, onOne(rand.Text, owned), safety, few, locktest.On("local"))
	r := victim(t, "real-time")
	r.failed(t, "TestVictims/real-time", "release-by-plain-del")
	r.says(t, "local cluster", "--- PASS: TestVictims/real-time/client-pause/seed=1")
}

func TestHistoriesAreWhereGoKeepsArtifacts(t *testing.T) {
	folder := t.TempDir()
	r := inProcess(t, folder, "TestVictims/from-return/slow-acquire/seed=7", "-test.artifacts", "-test.outputdir="+folder)
	require.False(t, r.passed)
	r.says(t, "history: "+filepath.Join(folder, "_artifacts"))
}

func TestALockThatPanicsFailsItsSubtest(t *testing.T) {
	r := victim(t, "panics")
	r.failed(t, "TestVictims/panics", "restart-without-persistence")
	r.says(t, "panic: nobody thought of this", "in lockproof/harness/locktest_test.TestVictims",
		"--- PASS: TestVictims/panics/healthy-contention")
}

func TestALockThatPanicsInTheBackgroundFailsItsSubtest(t *testing.T) {
	r := victim(t, "panics-in-the-background")
	r.failed(t, "TestVictims/panics-in-the-background", "restart-without-persistence")
	r.says(t, "panic: nobody thought of this", "--- PASS: TestVictims/panics-in-the-background/healthy-contention")
}

func TestALockThatSpinsFailsItsSubtest(t *testing.T) {
	r := victim(t, "spins")
	r.failed(t, "TestVictims/spins", "restart-without-persistence")
	r.says(t, "no progress in 1s of real time", "--- PASS: TestVictims/spins/healthy-contention")
}

func TestALockThatBlocksFailsItsSubtest(t *testing.T) {
	r := victim(t, "blocks")
	r.failed(t, "TestVictims/blocks", "restart-without-persistence")
	r.says(t, "deadlock in virtual time: all goroutines in bubble are blocked",
		"--- PASS: TestVictims/blocks/healthy-contention")
}

func TestALockThatEndsTheProcessFailsItsSubtest(t *testing.T) {
	r := victim(t, "exits")
	r.failed(t, "TestVictims/exits", "restart-without-persistence")
	r.says(t, "its process ended in the middle of the trial", "exit status 3", "--- PASS: TestVictims/exits/healthy-contention")
}

func TestALockThatNeverWorksIsToldOnce(t *testing.T) {
	for name, text := range map[string]string{
		"never-granted": "the last attempt: out of order",
		"not-made":      "no licence",
		"nothing-made":  "gave neither a lock nor an error",
		"always-panics": "the lock fails with nothing in its way",
		"untold":        "the lease has neither Validity nor Until",
	} {
		t.Run(name, func(t *testing.T) {
			r := victim(t, name)
			require.False(t, r.passed)
			r.says(t, text)
			require.NotContains(t, r.output, "/seed=", "nothing else is tried")
		})
	}
}

func TestMistakesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no-such-scenario": `there is no scenario "late-relase"; did you mean "late-release"?`,
		"no-such-property": `there is no "exclusion": there are mutual-exclusion`,
		"no-such-cluster":  `"moon" is none of the clusters that tests run on: virtual, local`,
		"in-no-time":       "the lock works in real time only",
		"taken-name":       "redsync is a lock of Lockproof's own",
		"nothing-fits":     "none of the scenarios chosen can be run with this lock",
	} {
		t.Run(name, func(t *testing.T) {
			r := victim(t, name)
			require.False(t, r.passed)
			r.says(t, text)
		})
	}
}
