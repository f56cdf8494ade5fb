package validate

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/cluster/local"
	"lockproof/harness/suite"
	"lockproof/internal/needs"
	"lockproof/redlock"
	"lockproof/validate/settings"
)

// TestMain makes the test binary a client when the local cluster starts it as
// one, and otherwise gives the tests a place of their own for what the local
// cluster keeps on record.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "worker" {
		if err := client.ServeWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	state, err := os.MkdirTemp("", "validate-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", state)
	os.Setenv("HOME", state)
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

// needRedis skips a test where no server, or no disk fault, can be had.
func needRedis(t *testing.T) {
	t.Helper()
	needs.Check(t, needs.Redis, local.Available(""))
	needs.PlainTemp(t)
	needs.Check(t, needs.Compiler, local.Kind.Can("power-loss"))
}

// Each of the nine files is judged on real servers that run with its own lines.
func TestTheNineFilesOnRealRedis(t *testing.T) {
	needRedis(t)
	for _, f := range files {
		t.Run(f.file, func(t *testing.T) {
			a := asker(t, f.file, atOnce())
			a.On, a.Trials = suite.Local, 1
			answer := judged(t, a)
			if PersistenceOf(a.Redis) == cluster.PersistEverysec && answer.Rows[2].Verdict == Safe {
				answer = judged(t, a) // the second of everysec turned between two commands
			}
			require.Equal(t, f.rows, verdicts(answer), "%+v", answer.Rows)
			if f.hazard == "" {
				require.Empty(t, answer.Hazards)
				return
			}
			require.Equal(t, f.hazard, answer.Hazards[0].Name)
			require.Equal(t, Unsafe, answer.Hazards[0].Verdict, answer.Hazards[0].Reason)
			require.Equal(t, Unsafe, answer.Verdict)
		})
	}
}

func TestPointsOnRealRedisAgreeWithVirtualTime(t *testing.T) {
	needRedis(t)
	checks, err := asker(t, "", atOnce()).Confirm(context.Background())
	require.NoError(t, err)
	unsafe := 0
	for _, c := range checks {
		require.True(t, c.Agrees(), "%s %s back after %s: virtual %+v, real %+v", c.Persistence, c.Crash, c.Delay, c.Virtual, c.Real)
		forgets := Forgets(c.Persistence, c.Crash) && c.Delay < Boundary(c.TTL, redlock.DefaultDrift)
		require.Equal(t, forgets, c.Unsafe(), "the prediction")
		if forgets {
			unsafe++
		}
	}
	require.Greater(t, unsafe, 6)
	require.Greater(t, len(checks)-unsafe, 6)
}

func TestThroughputIsMeasuredSideBySide(t *testing.T) {
	needRedis(t)
	measured, err := asker(t, "", atOnce()).MeasureThroughput(context.Background())
	require.NoError(t, err)
	require.Len(t, measured.Rates, 3)
	for _, r := range measured.Rates {
		require.Positive(t, r.One, r.Persistence)
		require.Positive(t, r.Many, r.Persistence)
	}
	require.Positive(t, measured.Fdatasync)
	require.GreaterOrEqual(t, measured.FdatasyncP99, measured.Fdatasync)
	require.Equal(t, measured.Of(cluster.PersistNone), measured.Of(cluster.PersistRDB), "RDB writes nothing on the way")
	require.Zero(t, (*Throughput)(nil).Of(cluster.PersistNone))
}

func TestAnAskerOnRealRedisStopsWhenTold(t *testing.T) {
	needRedis(t)
	a := asker(t, "2-no-persistence.conf", settings.Delayed(20*time.Second, "--restart-delay"), settings.Kill)
	a.On = suite.Local
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	answer := &Answer{}
	began := time.Now()
	require.NoError(t, a.Judge(ctx, answer))
	require.Less(t, time.Since(began), 15*time.Second)
	require.True(t, answer.Interrupted)
	require.NotEqual(t, Safe, answer.Verdict)
}
