package reports

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports/terminal"
)

func TestDuration(t *testing.T) {
	tests := map[time.Duration]string{
		0:                                     "0 s",
		350 * time.Microsecond:                "350 µs",
		1020 * time.Millisecond:               "1.02 s",
		118400 * time.Microsecond:             "118 ms",
		12 * time.Second:                      "12 s",
		12340 * time.Millisecond:              "12.3 s",
		100 * time.Millisecond:                "100 ms",
		200 * time.Second:                     "3 min 20 s",
		3*time.Hour + 2*time.Minute:           "3 h 2 min",
		-1500 * time.Millisecond:              "-1.5 s",
		99*time.Second + 960*time.Millisecond: "100 s",
	}
	for d, want := range tests {
		require.Equal(t, want, Duration(d))
	}
}

// A lock that extends itself has a validity of a thousand hours, which no reader wants in seconds.
func TestOverlapText_NoEnd_NoDuration(t *testing.T) {
	require.Equal(t, "both hold the lock for 986 ms", overlapText(int64(986*time.Millisecond)))
	require.Equal(t, "both hold the lock", overlapText(int64(999*time.Hour)))
}

func TestRate(t *testing.T) {
	tests := []struct {
		violated, trials int
		want             string
	}{
		{0, 0, "no trial decided"},
		{0, 300, "0 of 300, at most 1.3 % at 95 %"},
		{10, 10, "10 of 10, at least 72 % at 95 %"},
		{3, 10, "3 of 10, 10 % to 61 % at 95 %"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, newRate(tt.violated, tt.trials).String())
	}
}

func TestPercent_RoundsOutwards(t *testing.T) {
	require.Equal(t, "30 %", atMost(0.3))
	require.Equal(t, "30 %", atLeast(0.3))
	require.Equal(t, "31 %", atMost(0.3001))
	require.Equal(t, "29 %", atLeast(0.2999))
	require.Equal(t, "0.013 %", atMost(0.000128))
	require.Equal(t, "100 %", atMost(1))
	require.Equal(t, "100 %", atMost(0.996))
	require.Equal(t, "0 %", atLeast(0))
}

func TestHanging_KeepsFlagsWhole(t *testing.T) {
	text := "the virtual cluster cannot do this: run it with --on local or --on docker, or with --find-delay; see " +
		"`lockproof --help`"
	for width := 20; width < 140; width++ {
		lines := terminal.Hanging("", text, width)
		require.Equal(t, text, strings.Join(lines, " "), "at %d", width)
		for _, flag := range []string{"--on local", "--on docker", "--find-delay", "--help"} {
			require.True(t, slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, flag) }),
				"%s at %d: %q", flag, width, lines)
		}
	}
}

// Each reason is listed once, with all its rows.
func TestSkips_ListEachReasonOnce(t *testing.T) {
	because := func(scenario, variant, why string) suite.Result {
		return suite.Result{Scenario: scenario, Variant: variant, Cluster: "virtual", Lock: "redlock", Skipped: why}
	}
	none := "needs replication, which the virtual cluster does not have: use --on local or --on docker"
	r := New([]suite.Result{
		because("failover-lock", "", none), because("disk-full", "", "it has no disk"),
		trial("flushall", "", 1, history.Holds, history.Holds),
		because("failover-wait", "", none), because("failover-wait", "two replicas", none),
	}, Run{})
	require.Equal(t, Skips{
		{none, []string{"failover-lock", "failover-wait", "failover-wait (two replicas)"}},
		{"it has no disk", []string{"disk-full"}},
	}, r.Skips())

	var text, brief, summary strings.Builder
	require.NoError(t, r.Print(&text, terminal.Screen{Width: 60, Verbose: true}))
	require.NoError(t, r.Print(&brief, terminal.Screen{Width: 120}))
	require.Contains(t, brief.String(), "skipped: it has no disk (1 row)")
	require.NotContains(t, brief.String(), "failover-wait")
	require.NotContains(t, brief.String(), "flushall", "as expected, and not named")
	require.NoError(t, r.WriteSummary(&summary))
	for _, output := range []string{text.String(), summary.String()} {
		output = strings.Join(strings.Fields(output), " ")
		require.Equal(t, 1, strings.Count(output, none), output)
		for _, name := range []string{"failover-lock", "failover-wait (two replicas)", "disk-full"} {
			require.Contains(t, output, name)
		}
	}
}

func TestFenced_IsLongerThanAnyFenceWithin(t *testing.T) {
	require.Equal(t, "`````text\n````\n`````\n", fenced("````\n"))
}

func TestClean_RemovesControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range terminal.Clean(rapid.String().Draw(t, "text")) {
			require.False(t, r < ' ' || r >= 0x7f && r < 0xa0, "%q", r)
		}
	})
}

func TestNeedsAllNodesSkips_ListEachReasonOnce(t *testing.T) {
	const why = "needs-all-nodes: it waits for all nodes"
	needsAllNodes := func(scenario string) suite.Result {
		return suite.Result{Scenario: scenario, Cluster: "virtual", Lock: "patient",
			Expect: map[string]string{checker.MutualExclusion: history.Holds},
			Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: history.Inconclusive,
				Cause: checker.NeedsAllNodes, Reason: why}}}
	}
	r := New([]suite.Result{needsAllNodes("lost-reply"), trial("flushall", "", 1, history.Holds, history.Inconclusive),
		needsAllNodes("late-set")}, Run{})
	require.Equal(t, ExitInconclusive, r.ExitCode())

	var text, summary strings.Builder
	require.NoError(t, r.Print(&text, terminal.Screen{Width: 60, Verbose: true}))
	require.NoError(t, r.WriteSummary(&summary))
	for _, output := range []string{text.String(), summary.String()} {
		require.Equal(t, 1, strings.Count(output, why), output)
		require.Contains(t, output, "not applicable")
	}
	require.Contains(t, text.String(), "lost-reply, late-set")
	require.Contains(t, text.String(), "INCONCLUSIVE: flushall")
	require.NotContains(t, text.String(), "INCONCLUSIVE: late-set")
}
