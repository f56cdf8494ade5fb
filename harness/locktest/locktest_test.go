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

func TestNodes_Three_SkipsScenariosThatNeedFive(t *testing.T) {
	r := victim(t, "on-three")
	require.True(t, r.passed, r.output)
	r.says(t, "TestVictims/on-three, three servers", "--- PASS: TestVictims/on-three/late-release",
		"NOT APPLICABLE: on 3 servers it is another situation than on 5, as the reference shows",
		"NOT APPLICABLE: the situation needs one server alone, and has no form on 3")
}

func TestNodes_Three_BadLockIsStillViolated(t *testing.T) {
	locktest.Run(t, majority, locktest.Nodes(3), locktest.Scenarios("slow-acquire"), locktest.Expect("slow-acquire",
		locktest.Violated))
}

func TestBelief_NoneDeclared_IsFromReturn(t *testing.T) {
	locktest.Run(t, majority, locktest.Scenarios("slow-acquire", "pause-in-acquire"),
		locktest.Expect("slow-acquire", locktest.Violated), locktest.Expect("pause-in-acquire", locktest.Violated))
}

func TestBelief_NoneDeclared_NamesRowsThatDependOnIt(t *testing.T) {
	r := victim(t, "undeclared")
	r.failed(t, "TestVictims/undeclared", "slow-acquire")
	r.says(t, "(Believes(locktest.FromCall)), the bugs are 1 fewer",
		"(Believes(locktest.UntilReleased)), the bugs are 1 more")
}

func TestTTL_NoneDeclared_NamesRowsThatDependOnIt(t *testing.T) {
	r := victim(t, "unhurried")
	r.failed(t, "TestVictims/unhurried", "healthy-contention", "late-set")
	require.Contains(t, strings.Join(strings.Fields(r.output), " "), "(TTL(30*time.Second)), the bugs are 1 fewer, "+
		"since some delay of the lock or of its client does not grow with the TTL: healthy-contention details:")
}

func TestTTL_Declared_NoOtherIsTried(t *testing.T) {
	r := victim(t, "its-ttl")
	r.failed(t, "TestVictims/its-ttl", "healthy-contention")
	require.NotContains(t, r.output, "the bugs are")
}

func TestExpect_BugFixed_Fails(t *testing.T) {
	r := victim(t, "expected-in-vain")
	r.failed(t, "TestVictims/expected-in-vain", "healthy-contention")
	r.says(t, "healthy-contention is expected to be violated, and is not any more")
}

func TestLimit_IsSkippedUnlessStrict(t *testing.T) {
	r := victim(t, "limit")
	require.True(t, r.passed, r.output)
	r.says(t, "--- SKIP: TestVictims/limit/flushall",
		"LIMIT: mutual-exclusion: violated, as by the reference of its class", "limit             1   flushall")
	victim(t, "strict").failed(t, "TestVictims/strict", "flushall")
}

func TestPreflight_NamesLeakedGoroutines(t *testing.T) {
	r := victim(t, "leaks")
	require.False(t, r.passed)
	r.says(t, "the lock leaves 3 goroutines (victims_test.go:", "give the lock a Close()")
	require.NotContains(t, r.output, "TestVictims/leaks/", "no row is run")
}

func TestPreflight_LockWithoutRelease_Passes(t *testing.T) {
	r := victim(t, "no-release")
	r.says(t, "TestVictims/no-release/healthy-contention", "TestVictims/no-release/restart-without-persistence")
}

func TestErrRefused_SkipsTheRow(t *testing.T) {
	r := victim(t, "refuses")
	require.True(t, r.passed, r.output)
	r.says(t, "--- SKIP: TestVictims/refuses/half-is-not-majority", "--- PASS: TestVictims/refuses/healthy-contention")
}

// The summary names the code that started the allowed goroutines.
func TestLeavesBehind_AllowsALibrarysGoroutines(t *testing.T) {
	r := victim(t, "leaves-behind")
	require.True(t, r.passed, r.output)
	require.Regexp(t, `note: it leaves goroutines behind, which LeavesBehind `+
		`allows:\s+golang.org/x/sync/errgroup.\(\*Group\).Go\s+\(errgroup.go:\d+\)`,
		r.output)
	r.says(t, "--- PASS: TestVictims/leaves-behind/healthy-contention", "--- PASS: TestVictims/leaves-behind/explore")

	r = victim(t, "leaves-own-behind")
	require.False(t, r.passed)
	r.says(t, "the lock leaves 1 goroutine (victims_test.go:")
	r = victim(t, "allows-own-behind")
	require.False(t, r.passed)
	r.says(t, "locktest.LeavesBehind: example.org/lockproof/harness/locktest_test is the test's own package")
}

func TestPreflight_ExtendFails_FailsBeforeAnyRow(t *testing.T) {
	r := victim(t, "extends-in-vain")
	require.False(t, r.passed)
	r.says(t, "the lock was not extended, with nothing in its way and nobody else: ", "no such script")
	require.NotContains(t, r.output, "TestVictims/extends-in-vain/", "no row is run")
}

// The catalogue's TTLs are whole seconds.
func TestPreflight_ExpiryInWholeSeconds_FailsBeforeAnyRow(t *testing.T) {
	r := victim(t, "whole-seconds")
	require.False(t, r.passed)
	r.says(t, `the lock's key expires before its lease ends, with nothing in its way: "k1" expires 1s after it is set, `+
		"and its lease is valid for 1.5s")
	require.NotContains(t, r.output, "TestVictims/whole-seconds/", "no row is run")
}

func TestPreflight_OneKeyForAll_IsNoted(t *testing.T) {
	r := victim(t, "on-one-key")
	require.Contains(t, strings.Join(strings.Fields(r.output), " "),
		`note: it sets ["lock"], which does not contain the caller's key`)
	require.NotContains(t, victim(t, "prefixed").output, "does not contain the caller's key")
}

func TestPreflight_LockRenewsItself_BeliefIsUntilReleased(t *testing.T) {
	r := victim(t, "renews")
	r.says(t, "believed until released (it renews itself)", "note: the lock renews its key by itself, but declares no "+
		"belief",
		"note: go-redis ignores the deadline of its caller's context")
}

func TestRun_BelievesFromReturn_FailsWithStoryAndReplay(t *testing.T) {
	r := victim(t, "from-return")
	r.failed(t, "TestVictims/from-return", "slow-acquire", "pause-in-acquire")
	r.says(t, "--- FAIL: TestVictims/from-return/slow-acquire/seed=7",
		"--- PASS: TestVictims/from-return/healthy-contention/seed=8",
		"BUG: mutual-exclusion: violated, and kept by the reference of its class",
		"believed for a TTL from the return of Acquire (declared)", "victims_test.go:", "░ acquiring   █ holding")
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
	for name, failing := range map[string][]string{
		"plain-del": {"release-by-plain-del", "late-release", "release-by-get-then-del", "partition-during-contention",
			"shared-lock-object", "slow-acquire", "pause-in-acquire", "stopped-in-acquire", "stopped-in-release",
			"drift-within-margin", "short-ttl"},
		"on-one-from-return": {"slow-acquire", "pause-in-acquire", "stopped-in-acquire", "drift-within-margin", "short-ttl"},
	} {
		t.Run(name, func(t *testing.T) { victim(t, name).failed(t, "TestVictims/"+name, failing...) })
	}
}

func TestRun_LockAcquiresByScript_FaultsAffectItLikeSet(t *testing.T) {
	victim(t, "by-script-one-token").failed(t, "TestVictims/by-script-one-token", "late-release")
	r := victim(t, "by-script-fresh-tokens")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/by-script-fresh-tokens/late-release",
		"--- PASS: TestVictims/by-script-fresh-tokens/slow-acquire")
}

func TestRun_LockIgnoresItsContext_ReportsLateOrMissingReturn(t *testing.T) {
	for bad, ends := range map[string]string{"deaf": "the acquire returned at", "stuck": "and was still waiting"} {
		r := victim(t, bad)
		r.failed(t, "TestVictims/"+bad, "cancelled-wait")
		r.says(t, "cancellation: violated, and kept by the reference of its class", ends, "c2's caller cancels")
	}
}

// Such a lock exceeds the bound although a majority answers. A row whose steps it never reaches is undecided.
func TestRun_LockWaitsForAllNodes_ReportsOneCause(t *testing.T) {
	r := victim(t, "patient")
	r.failed(t, "TestVictims/patient", "hung-node")
	require.Equal(t, 1, strings.Count(r.output, "░ acquiring"), r.output)
	const why = "UNDECIDED: unstaged: the lock was not granted: it waited for a node that is out of reach"
	require.Equal(t, 3, strings.Count(r.output, why), r.output)

	// A sequential lock has sent nothing to the later nodes by then.
	r = victim(t, "in-turn")
	r.failed(t, "TestVictims/in-turn")
	require.Equal(t, 4, strings.Count(r.output, why), r.output)
}

func TestRun_FencingTokens_AreJudged(t *testing.T) {
	r := victim(t, "fence-grows")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/fence-grows/client-pause-fenced")
	for _, bad := range []string{"fence-shrinks", "fence-stays"} {
		r := victim(t, bad)
		r.failed(t, "TestVictims/"+bad, "client-pause-fenced")
		r.says(t, "fencing: violated, and kept by the reference of its class")
	}
	victim(t, "no-fence").says(t, "issues no fencing tokens, which this scenario's store checks")
}

func TestKeyed_KeysHaveOtherNamesOnServers(t *testing.T) {
	r := victim(t, "prefixed")
	r.failed(t, "TestVictims/prefixed", "release-by-plain-del")
	r.says(t, "c1's key expires on n1")
}

// The lock checks its clock before it extends, but the network can delay the extension.
func TestRun_ExtensionOfAnotherClientsKey_IsABug(t *testing.T) {
	require.True(t, victim(t, "extends-if-owned").passed)
	r := victim(t, "extends-by-set-xx")
	r.failed(t, "TestVictims/extends-by-set-xx", "extend-without-owner")
	r.says(t, "mutual-exclusion: violated, and kept by the reference of its class")
}

// Go ends a process in which a trial in virtual time uses the channel of an earlier one: a new process runs it.
func TestRun_LibraryKeepsAChannel_FailsNoTrial(t *testing.T) {
	r := victim(t, "keeps-a-channel")
	r.failed(t, "TestVictims/keeps-a-channel")
	r.says(t, "--- PASS: TestVictims/keeps-a-channel/stopped-in-acquire")
}

// A client on another client's connections is not affected by its own faults.
func TestRun_ClientsShareAPool_Fails(t *testing.T) {
	r := victim(t, "shares-a-pool")
	r.failed(t, "TestVictims/shares-a-pool", "holder-crashes")
	r.says(t, "FAILED: the lock was asked, and has never connected over its client's own links")
}

// A lock may go on without a command that the cluster lacks, as it never would on a server.
func TestRun_CommandIsNotModelled_IsNoHolds(t *testing.T) {
	r := victim(t, "blocking-at-once")
	require.False(t, r.passed, r.output)
	r.says(t, "BLPOP is not modelled by the virtual cluster: use the local one")
	for name, command := range map[string]string{"blocking-if-held": "BLPOP", "function-if-held": "FCALL"} {
		r = victim(t, name)
		require.True(t, r.passed, r.output)
		r.says(t, command+" is not modelled by the virtual cluster: use the local one", "undecided         1")
	}
}

func TestContextual_ContextEnds_EndsTheBelief(t *testing.T) {
	r := victim(t, "told-in-time")
	require.True(t, r.passed, r.output)
	r.says(t, "--- PASS: TestVictims/told-in-time/watchdog-cut-off")
	victim(t, "told-unless-refused").failed(t, "TestVictims/told-unless-refused", "watchdog-cut-off")
	r = victim(t, "told-too-late")
	r.failed(t, "TestVictims/told-too-late", "watchdog-cut-off")
	r.says(t, "believed until released or until the lease's context ends (declared)")
}

func TestOnRealRedis(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	few := locktest.Scenarios("client-pause", "release-by-plain-del")
	locktest.Run(t, onOne(rand.Text, owned), safety, few, locktest.On("local"))
	r := victim(t, "real-time")
	r.failed(t, "TestVictims/real-time", "release-by-plain-del")
	r.says(t, "--- PASS: TestVictims/real-time/client-pause")
}

func TestRun_LockPanics_FailsItsSubtest(t *testing.T) {
	r := victim(t, "panics")
	r.failed(t, "TestVictims/panics", "restart-without-persistence")
	r.says(t, "panic: nobody thought of this", "in example.org/lockproof/harness/locktest_test.TestVictims",
		"--- PASS: TestVictims/panics/healthy-contention")
}

func TestRun_LockSpins_FailsItsSubtest(t *testing.T) {
	r := victim(t, "spins")
	r.failed(t, "TestVictims/spins", "restart-without-persistence")
	r.says(t, "no progress in 1s of real time", "--- PASS: TestVictims/spins/healthy-contention")
}

func TestRun_LockNeverWorks_FailsBeforeAnyRow(t *testing.T) {
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

func TestRun_BadOptions_Fails(t *testing.T) {
	for name, text := range map[string]string{
		"no-such-scenario": `unknown scenario "late-relase"; did you mean "late-release"?`,
		"no-such-property": `there is no "exclusion": there are mutual-exclusion`,
		"no-such-cluster":  `unknown cluster "moon": want one of virtual, local`,
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
