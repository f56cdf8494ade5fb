package validate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/validate/deploy"
	"example.org/lockproof/validate/settings"
)

func takeoverRunner(t *testing.T, text string, f deploy.Failover, wait int) *Runner {
	t.Helper()
	a := runner(t, "4-always.conf", 0, settings.Kill)
	d, err := deploy.Read(nil, deploy.Options{Set: strings.Split(strings.TrimSpace("appendonly yes\nappendfsync always\n"+
		text), "\n")})
	require.NoError(t, err)
	a.Server, a.Failover, a.Takeovers, a.Wait, a.Trials = d.Server, &f, Takeovers, wait, 12
	return a
}

func TestTakeovers_SafeOnlyIfPromotedReplicaHasTheLock(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name     string
		replicas int
		after    time.Duration // the TTL is a second
		wait     int
		lines    string
		want     [3]Verdict // master dies, promotion by hand, two masters
	}{
		{"asynchronous", 1, 0, 0, "", [3]Verdict{Unsafe, Unsafe, Unsafe}},
		{"promoted while the lock lasts", 1, second / 2, 0, "", [3]Verdict{Unsafe, Unsafe, Unsafe}},
		{"promoted when every lock has expired", 1, 3 * second, 0, "", [3]Verdict{Safe, Unsafe, Unsafe}},
		{"WAIT for the only replica", 1, 0, 1, "", [3]Verdict{Safe, Safe, Safe}},
		{"WAIT for all of two", 2, 0, 2, "", [3]Verdict{Safe, Safe, Safe}},
		{"WAIT for one of two", 2, 0, 1, "", [3]Verdict{Unsafe, Unsafe, Unsafe}},
		{"a master that needs its replica", 1, 0, 0, "min-replicas-to-write 1\n", [3]Verdict{Unsafe, Unsafe, Unsafe}},
		{"that stops in time", 1, 10 * second, 0, "min-replicas-to-write 1\nmin-replicas-max-lag 2\n",
			[3]Verdict{Safe, Unsafe, Safe}},
		{"that another replica keeps in office", 2, 10 * second, 0, "min-replicas-to-write 1\nmin-replicas-max-lag 2\n",
			[3]Verdict{Safe, Unsafe, Unsafe}},
		{"that stops in time, since it needs both", 2, 10 * second, 0, "min-replicas-to-write 2\nmin-replicas-max-lag 2\n",
			[3]Verdict{Safe, Unsafe, Safe}},
		{"that stops too late", 1, 3 * second, 0, "min-replicas-to-write 1\nmin-replicas-max-lag 4\n",
			[3]Verdict{Safe, Unsafe, Unsafe}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			answer := judged(t, takeoverRunner(t, tt.lines, deploy.Failover{Replicas: tt.replicas, After: tt.after,
				Why: "as it is set"}, tt.wait))
			require.Len(t, answer.Takeovers, 3)
			var got [3]Verdict
			var reasons string
			for i, r := range answer.Takeovers {
				got[i] = r.Verdict
				reasons += fmt.Sprintf("%s: %s %+v\n", r.Takeover, r.Reason, r.Tally)
				require.Zero(t, r.Tally.Inconclusive+r.Tally.Failed, reasons)
			}
			require.Equal(t, tt.want, got, reasons)
		})
	}
}

func TestTakeovers_NoTrialDecides_Inconclusive(t *testing.T) {
	f := deploy.Failover{Replicas: 1}
	for _, trial := range []suite.Result{result(history.Inconclusive), {Failure: "n1 did not start"},
		{Skipped: "no replicas"}, {}} {
		a := takeoverRunner(t, "", f, 1)
		a.Suite = suiteReturning(trial)
		answer := judged(t, a)
		for _, r := range answer.Takeovers {
			require.Equal(t, Inconclusive, r.Verdict, r.Reason)
		}
		require.Equal(t, Inconclusive, answer.Verdict)
	}
	a := takeoverRunner(t, "quantum-sync yes\n", f, 1)
	a.Suite = suiteReturning(result(history.Holds))
	require.Equal(t, Inconclusive, judged(t, a).Takeovers[0].Verdict, "what is not known may matter")
}

func TestAdvise_UnsafeTakeovers_RecommendsWAIT(t *testing.T) {
	a := takeoverRunner(t, "", deploy.Failover{Replicas: 2}, 0)
	answer := advised(t, a)
	require.Len(t, answer.Runbooks, 2, "no crash is unsafe; the last is fencing")
	require.Equal(t, "takeovers", answer.Runbooks[0].Against)
	require.Contains(t, answer.Runbooks[0].Steps[0].Do, "WAIT 2")
	a.Failover.Uncounted = "nobody has counted them"
	require.NoError(t, a.Advise(t.Context(), answer))
	require.Contains(t, answer.Runbooks[2].Steps[0].Do, "there are N (nobody has counted them); WAIT N 1000")
}

func TestTakeovers_UncountedReplicas_WAITIsInconclusive(t *testing.T) {
	f := deploy.Failover{Replicas: 1, Uncounted: "compose.yaml:9 says replicas: 2"}
	for _, r := range judged(t, takeoverRunner(t, "", f, 1)).Takeovers {
		require.Equal(t, Inconclusive, r.Verdict)
		require.Contains(t, r.Reason, "no violation if there are 1 replicas and no more, but compose.yaml:9 says replicas: "+
			"2: give --replicas")
	}
	for after, want := range map[time.Duration]Verdict{ // every lock has expired, also by a Sentinel's fast clock
		1005 * time.Millisecond: Inconclusive, 3 * time.Second: Safe,
	} {
		f.After = after
		require.Equal(t, want, judged(t, takeoverRunner(t, "", f, 1)).Takeovers[0].Verdict, after)
	}
}

// With appendfsync no, WAITAOF always times out. A takeover needs the acknowledgement of a replica too.
func TestWAITAOF_SafeOnlyIfDisksAreSynced(t *testing.T) {
	a := runner(t, "", 0, settings.Kill, settings.PowerLoss)
	for fsync, want := range map[string]Verdict{"everysec": Safe, "always": Safe, "no": Inconclusive} {
		r, err := settings.ParseRedis("redis.conf", "save \"\"\nappendonly yes\nappendfsync "+fsync+"\n")
		require.NoError(t, err)
		a.Server.Redis, a.TTLs, a.WaitAOF = r, []time.Duration{20 * time.Second}, true
		a.Server.Software = deploy.Software{Name: "Redis", Version: "8.0"}
		for _, row := range judged(t, a).Rows {
			require.Equal(t, want, row.Verdict, "%s %s: %s", fsync, row.Crash, row.Reason)
		}
	}
	for wait, want := range []Verdict{Unsafe, Safe} {
		b := takeoverRunner(t, "appendfsync everysec\n", deploy.Failover{Replicas: 1}, wait)
		b.Server.Software = deploy.Software{Name: "Redis", Version: "8.0"}
		b.Failover.Followers = []*deploy.Server{b.Server}
		b.WaitAOF, b.TTLs, b.Crashes = true, []time.Duration{20 * time.Second}, nil
		for _, row := range judged(t, b).Takeovers {
			require.Equal(t, want, row.Verdict, "WAITAOF 1 %d, %s: %s", wait, row.Takeover, row.Reason)
		}
	}
}

// The answer of WAITAOF counts only if the server, and each replica, is known to give it after the fsync.
func TestWAITAOF_UnknownServer_IsInconclusive(t *testing.T) {
	redis8, valkey := deploy.Software{Name: "Redis", Version: "8"}, deploy.Software{Name: "Valkey", Version: "8.1.1"}
	for software, want := range map[deploy.Software]Verdict{redis8: Safe, valkey: Inconclusive, {}: Inconclusive} {
		a := runner(t, "", 0, settings.PowerLoss)
		r, err := settings.ParseRedis("redis.conf", "save \"\"\nappendonly yes\nappendfsync everysec\n")
		require.NoError(t, err)
		a.Server.Redis, a.Server.Software, a.WaitAOF = r, software, true
		a.TTLs = []time.Duration{20 * time.Second}
		require.Equal(t, want, judged(t, a).Rows[0].Verdict, software)
		b := takeoverRunner(t, "appendfsync everysec\n", deploy.Failover{Replicas: 1,
			Followers: []*deploy.Server{{Software: software, Redis: r}}}, 1)
		b.Server.Software, b.WaitAOF, b.TTLs, b.Crashes = redis8, true, a.TTLs, nil
		require.Equal(t, want, judged(t, b).Takeovers[0].Verdict, software)
	}
}

func TestTakeovers_NeverPromoted_OnlyManualIsTried(t *testing.T) {
	answer := judged(t, takeoverRunner(t, "", deploy.Failover{Replicas: 1, Never: true}, 0))
	require.Len(t, answer.Takeovers, 1)
	require.Equal(t, ByHand, answer.Takeovers[0].Takeover)
	require.Equal(t, Unsafe, answer.Takeovers[0].Verdict)
}

func result(verdict string) suite.Result {
	return suite.Result{Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: verdict}}}
}

func suiteReturning(result suite.Result) suite.Runner {
	return func(_ context.Context, jobs []suite.Job, _ suite.Options, _ func(suite.Result)) (all []suite.Result,
		err error) {
		for _, job := range jobs {
			result.Scenario = job.Scenario.Name
			all = append(all, result)
		}
		return all, nil
	}
}
