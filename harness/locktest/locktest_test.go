package locktest_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/locktest"
	"example.org/lockproof/internal/needs"
)

// victimsVariable enables TestVictims: its locks are bad, so its subtests fail.
const victimsVariable = "LOCKPROOF_TEST_VICTIMS"

// run is the result of one test in its own process and folder.
type run struct {
	output, folder string
	passed         bool
}

// inProcess runs tests of this binary in a child process, where they may fail.
func inProcess(t *testing.T, folder, pattern string, flags ...string) run {
	t.Helper()
	needs.Long(t, "it runs go test in another process")
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
	for _, m := range regexp.MustCompile(`--- FAIL: `+regexp.QuoteMeta(test)+`/([^/ ]+) `).FindAllStringSubmatch(r.output,
		-1) {
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

func TestRun_GoodLock_PassesTheCatalogue(t *testing.T) {
	locktest.Run(t, good)
}

func TestRun_GoodLockOnThreeServers_Passes(t *testing.T) {
	t.Run("told", func(t *testing.T) { locktest.Run(t, good, locktest.Nodes(3)) })
	t.Run("picked", func(t *testing.T) {
		locktest.Run(t, onThree, locktest.Scenarios("minority-down", "late-release", "half-is-not-majority"))
	})
}

func TestNodes_Three_BadLockIsStillViolated(t *testing.T) {
	locktest.Run(t, majority, locktest.Nodes(3), locktest.Scenarios("slow-acquire"), locktest.Expect("slow-acquire",
		locktest.Violated))
}

func TestTTL_Declared_NoOtherIsTried(t *testing.T) {
	r := victim(t, "its-ttl")
	r.failed(t, "TestVictims/its-ttl", "healthy-contention")
	require.NotContains(t, r.output, "the bugs are")
}

func TestRun_BelievesFromReturn_FailsWithStoryAndReplay(t *testing.T) {
	r := victim(t, "from-return")
	r.failed(t, "TestVictims/from-return", "slow-acquire", "pause-in-acquire")
	r.says(t, "--- FAIL: TestVictims/from-return/slow-acquire/seed=7",
		"--- PASS: TestVictims/from-return/healthy-contention/seed=8",
		"BUG: mutual-exclusion: violated, and kept by the reference of its class",
		"believed for a TTL from the return of Acquire (declared)", "claims_test.go:", "░ acquiring   █ holding")
	history := regexp.MustCompile(`history: +(/\S+)`).FindStringSubmatch(r.output)
	require.NotNil(t, history, r.output)
	require.FileExists(t, history[1])
	require.FileExists(t, filepath.Join(filepath.Dir(history[1]), "timeline.svg"))
	for _, file := range []string{"summary.txt", "report.html"} {
		require.FileExists(t, filepath.Join(r.folder, "lockproof", "TestVictims", "from-return", file))
	}
	schedules, err := filepath.Glob(filepath.Join(r.folder, "testdata/lockproof/TestVictims/from-return/*.yaml"))
	require.NoError(t, err)
	require.Len(t, schedules, 2, "one for each cause: what holds the replies, and the pause")

	// Recorded schedules are replayed first, even if not selected.
	again := inProcess(t, r.folder, "TestVictims/from-return/replay")
	require.False(t, again.passed)
	again.says(t, "--- FAIL: TestVictims/from-return/replay/slow-acquire-seed-7")
	one := inProcess(t, r.folder, "TestVictims/from-return/late-release/seed=7")
	require.True(t, one.passed, one.output)
	require.Equal(t, 1, strings.Count(one.output, "/seed="+"7 ("), one.output)
}

func TestRun_LockOnOneServer_RunsOneServerScenarios(t *testing.T) {
	locktest.Run(t, onOne(rand.Text, owned), safety, locktest.Believes(locktest.FromCall),
		locktest.Expect("drift-within-margin", locktest.Violated)) // it has no drift margin
}

// Such a lock exceeds the bound although a majority answers. A row whose steps it never reaches is undecided.
func TestRun_LockWaitsForAllNodes_ReportsOneCause(t *testing.T) {
	r := victim(t, "patient")
	r.failed(t, "TestVictims/patient", "hung-node")
	require.Equal(t, 1, strings.Count(r.output, "░ acquiring"), r.output)
	const why = "UNDECIDED: needs-all-nodes: the lock was not granted: it waited for a node that is out of reach"
	require.Equal(t, 3, strings.Count(r.output, why), r.output)

	// A sequential lock has sent nothing to the later nodes by then.
	r = victim(t, "in-turn")
	r.failed(t, "TestVictims/in-turn")
	require.Equal(t, 4, strings.Count(r.output, why), r.output)
}

func TestOnRealRedis(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	few := locktest.Scenarios("client-pause", "release-by-plain-del")
	locktest.Run(t, onOneFor(time.Second, rand.Text, owned), safety, few, locktest.On("local"))
	r := victim(t, "real-time")
	for tries := 1; tries < 3 && strings.Contains(r.output, "was held up for"); tries++ { // a busy machine decides nothing
		r = victim(t, "real-time")
	}
	r.failed(t, "TestVictims/real-time", "release-by-plain-del")
	r.says(t, "--- PASS: TestVictims/real-time/client-pause")
}
