package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// What was not as expected is run again as it was, and nothing else.
func TestLastFailed(t *testing.T) {
	out := t.TempDir()
	worse := func(job suite.Job, n int) suite.Result {
		if job.Scenario.Name == "late-set" || job.Variant == "without Majority" {
			return contrary(job, n)
		}
		return expected(job, n)
	}
	names := func() (rows []string) {
		r, err := reports.Read(out)
		require.NoError(t, err)
		for _, row := range r.Rows {
			rows = append(rows, row.Name())
		}
		require.Equal(t, []any{3, uint64(7), suite.Local}, []any{r.Options.Trials, r.Options.Seed, r.Options.Cluster})
		return rows
	}
	require.Equal(t, 1, fake(worse).try("run", "--out", out, "--trials", "3", "--seed", "7", "--on", "local").code)
	require.Greater(t, len(names()), 50)

	got := fake(worse).try("run", "--last-failed", "--out", out)
	require.Equal(t, 1, got.code, got.err)
	failed := names()
	require.Contains(t, failed, "late-set")
	require.Contains(t, failed, "half-is-not-majority (without Majority)")
	require.NotContains(t, failed, "half-is-not-majority")
	require.Less(t, len(failed), 6)

	got = fake(expected).try("run", "late-set", "--last-failed", "--out", out)
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, names(), "late-set")
	got = fake(expected).try("run", "--last-failed", "--out", out)
	require.Equal(t, ran{code: 0, out: "Nothing to run again: in " + out + " all was as expected.\n"}, got)
}

// contrary is a trial each of whose verdicts is the other one.
func contrary(job suite.Job, n int) suite.Result {
	r := expected(job, n)
	for i, of := range r.Results {
		r.Results[i].Verdict = map[string]string{history.Holds: history.Violated, history.Violated: history.Holds}[of.Verdict]
	}
	return r
}

func TestLastFailedRefuses(t *testing.T) {
	got := fake(expected).try("run", "--last-failed", "--out", t.TempDir())
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "give the output folder of a run that has ended")
	out := t.TempDir()
	require.Equal(t, 1, fake(contrary).try("run", "flushall", "--out", out).code)
	got = fake(expected).try("run", "late-set", "--last-failed", "--out", out)
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "in the run in "+out+", none of what is named was other than expected")
}
