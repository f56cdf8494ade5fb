package validate

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/harness/suite"
	"lockproof/validate/settings"
)

// giving is a suite whose trials all end in one way.
func giving(trial suite.Result) suite.Runner {
	return func(_ context.Context, jobs []suite.Job, _ suite.Options, observe func(suite.Result)) ([]suite.Result, error) {
		var all []suite.Result
		for _, j := range jobs {
			t := trial
			t.Scenario = j.Scenario.Name
			observe(t)
			all = append(all, t)
		}
		return all, nil
	}
}

func result(verdict string) suite.Result {
	return suite.Result{Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: verdict,
		Reason: "vacuous: nothing happened"}}}
}

// Nothing but trials that decided, and held, makes settings safe.
func TestWhatDecidesNothingIsNotSafe(t *testing.T) {
	tests := []struct {
		name  string
		trial suite.Result
		want  Verdict
		why   string
	}{
		{"holds", result(history.Holds), Safe, "appendfsync always syncs"},
		{"inconclusive", result(history.Inconclusive), Inconclusive, "vacuous: nothing happened"},
		{"failed", suite.Result{Failure: "n3 did not start"}, Inconclusive, "n3 did not start"},
		{"skipped", suite.Result{Skipped: "no compiler"}, Inconclusive, "no compiler"},
		{"not judged", suite.Result{}, Inconclusive, "cut short"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := asker(t, "4-always.conf", atOnce(), settings.PowerLoss)
			a.Suite = giving(tt.trial)
			answer := judged(t, a)
			require.Equal(t, tt.want, answer.Verdict)
			require.Contains(t, answer.Rows[0].Reason, tt.why)
		})
	}
}

// A server skips the fsync while any child of its is at work: one that rewrites the
// file, or one that saves a snapshot.
func TestFsyncIsSkippedForSnapshotsToo(t *testing.T) {
	for _, tt := range []struct {
		percentage int
		save       []settings.SavePoint
		want       Verdict
	}{
		{100, nil, Inconclusive}, {0, []settings.SavePoint{{}}, Inconclusive}, {0, nil, Safe},
	} {
		a := asker(t, "4-always.conf", atOnce(), settings.PowerLoss)
		a.Redis.NoFsyncOnRewrite, a.Redis.RewritePercentage, a.Redis.Save = true, tt.percentage, tt.save
		a.Suite = giving(result(history.Holds))
		require.Equal(t, tt.want, judged(t, a).Verdict, "%+v", tt)
	}
}

func TestOneInconclusiveTrialIsEnough(t *testing.T) {
	a := asker(t, "4-always.conf", atOnce(), settings.Kill)
	n := 0
	a.Suite = func(ctx context.Context, jobs []suite.Job, o suite.Options, observe func(suite.Result)) ([]suite.Result, error) {
		trial := result(history.Holds)
		if n++; n == 3 {
			trial = result(history.Inconclusive)
		}
		return giving(trial)(ctx, jobs, o, observe)
	}
	answer := judged(t, a)
	require.Equal(t, Inconclusive, answer.Verdict)
	require.Contains(t, answer.Rows[0].Reason, "1 of 6 trials decided nothing")
}

func TestAnUnknownDirectiveKeepsSettingsFromBeingSafe(t *testing.T) {
	a := asker(t, "", atOnce())
	r, err := settings.ParseRedis("redis.conf", "appendonly yes\nappendfsync always\nquantum-sync yes\n")
	require.NoError(t, err)
	a.Redis = r
	answer := judged(t, a)
	require.Equal(t, Inconclusive, answer.Verdict)
	require.Contains(t, answer.Rows[0].Reason, "redis.conf:3: it is not known whether quantum-sync matters (--ignore quantum-sync")

	a.Ignore = []string{"quantum-sync"}
	require.Equal(t, Safe, judged(t, a).Verdict)

	a.Redis.AppendOnly = false
	a.Ignore = nil
	require.Equal(t, Unsafe, judged(t, a).Verdict, "what is unsafe stays so")
}

func TestARemarkPutsOnlyItsCrashesInDoubt(t *testing.T) {
	a := asker(t, "4-always.conf", atOnce())
	a.Redis.Remarks = []settings.Remark{{What: "dir /dev/shm is memory", Doubts: []settings.Crash{settings.PowerLoss}}}
	require.Equal(t, []Verdict{Safe, Safe, Inconclusive}, verdicts(judged(t, a)))
}

func TestAScriptThatMayWaitKeepsAnUnsafeVerdictOpen(t *testing.T) {
	p, err := settings.Disk.ReadPolicy("settings/testdata/policy/scripted-pod.yaml", "")
	require.NoError(t, err)
	answer := judged(t, asker(t, "2-no-persistence.conf", p, settings.Kill))
	require.Equal(t, Inconclusive, answer.Verdict)
	require.Contains(t, answer.Rows[0].Reason, "give --restart-delay")
}

func TestAnInterruptedQuestionTellsWhatItKnows(t *testing.T) {
	a := asker(t, "4-always.conf", atOnce(), settings.Kill)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	a.Observe = func(suite.Result) {
		if n++; n == 2 {
			cancel()
		}
	}
	answer := &Answer{}
	require.NoError(t, a.Judge(ctx, answer))
	require.True(t, answer.Interrupted)
	require.Equal(t, Inconclusive, answer.Verdict)
	require.Equal(t, 2, answer.Rows[0].Tally.Held)
	require.Contains(t, answer.Rows[0].Reason, "cut short after 2 of 6 trials")

	f, err := a.Measure(ctx, 1)
	require.NoError(t, err)
	require.Zero(t, f.Trials)
	require.NoError(t, a.Advise(ctx, answer))
	found, err := a.FindDelay(ctx, 5)
	require.NoError(t, err)
	require.Equal(t, interrupted, found[0].Why)
	drifts, err := a.Drifts(ctx)
	require.NoError(t, err)
	require.Equal(t, interrupted, drifts[0].Why)
	checks, err := a.Confirm(ctx)
	require.NoError(t, err)
	require.Empty(t, checks, "nothing was tried")
}

// A search that is cut short on its way has no limit to tell, and changes that
// were not tried to the end are no advice.
func TestASearchThatIsCutShort(t *testing.T) {
	for _, trials := range []int{1, 3, 9} {
		a := asker(t, "2-no-persistence.conf", atOnce(), settings.Kill)
		answer := judged(t, a)
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		a.Observe = func(suite.Result) {
			if n++; n == trials {
				cancel()
			}
		}
		found, err := a.FindDelay(ctx, 100)
		require.NoError(t, err)
		require.Equal(t, interrupted, found[0].Why, trials)

		ctx, cancel = context.WithCancel(context.Background())
		n = 0
		pauses, err := a.Pauses(ctx)
		require.NoError(t, err)
		require.Equal(t, interrupted, pauses[0].Why, trials)

		ctx, cancel = context.WithCancel(context.Background())
		n = 0
		require.NoError(t, a.Advise(ctx, answer))
		require.Empty(t, answer.Advice)
		cancel()
	}
}

// Whatever a trial was for, the harness's own failure in it is told.
func TestAFailureOfTheHarnessIsTold(t *testing.T) {
	failing := func(file string) *Asker {
		a := asker(t, file, atOnce(), settings.Kill)
		a.Suite = giving(suite.Result{Failure: "n3 did not start"})
		return a
	}
	tests := map[string]func(context.Context, *Asker) error{
		"crash":        func(ctx context.Context, a *Asker) error { return a.Judge(ctx, &Answer{}) },
		"availability": func(ctx context.Context, a *Asker) error { return a.Availability(ctx, &Answer{}) },
		"advice":       func(ctx context.Context, a *Asker) error { return a.Advise(ctx, &Answer{Verdict: Unsafe}) },
		"delay":        func(ctx context.Context, a *Asker) error { _, err := a.FindDelay(ctx, 5); return err },
		"drift":        func(ctx context.Context, a *Asker) error { _, err := a.Drifts(ctx); return err },
		"pause":        func(ctx context.Context, a *Asker) error { _, err := a.Pauses(ctx); return err },
		"frontier":     func(ctx context.Context, a *Asker) error { _, err := a.Measure(ctx, 1); return err },
		"real points":  func(ctx context.Context, a *Asker) error { _, err := a.Confirm(ctx); return err },
		"hazard": func(ctx context.Context, a *Asker) error {
			a.On = suite.Local
			return a.hazards(ctx, &Answer{})
		},
	}
	for name, ask := range tests {
		t.Run(name, func(t *testing.T) {
			a := failing("7-cache.conf")
			require.NoError(t, ask(context.Background(), a))
			require.Equal(t, "n3 did not start", a.Failure)
		})
	}
}

func TestARateSaysHowLittleIsKnown(t *testing.T) {
	_, low, high := (Tally{Held: 300}).Rate()
	require.Zero(t, low)
	require.InDelta(t, 0.0126, high, 0.0001)
	_, low, high = (Tally{Inconclusive: 3}).Rate()
	require.Equal(t, []float64{0, 1}, []float64{low, high})
}

func TestWorse(t *testing.T) {
	require.Equal(t, Unsafe, worse(Inconclusive, Unsafe))
	require.Equal(t, Inconclusive, worse(Safe, Inconclusive))
	require.Equal(t, Safe, worse(Safe, Safe))
	a := Answer{}
	a.Settle()
	require.Equal(t, Inconclusive, a.Verdict, "nothing was asked")
	require.Equal(t, 31*time.Second, wholeSeconds(Boundary(30*time.Second, 0.01)))
}

// Where the server's own file was not read, Redis's defaults convict nobody.
func TestDefaultsInPlaceOfAFileConvictNobody(t *testing.T) {
	p, err := settings.ParsePolicy("redis.service",
		[]byte("[Service]\nExecStart=/usr/bin/redis-server /etc/redis.conf\nRestart=always\n"), "")
	require.NoError(t, err)
	a := asker(t, "", p, settings.Kill)
	a.Redis, err = settings.Disk.ReadSettings("", nil, p)
	require.NoError(t, err)
	answer := judged(t, a)
	require.Equal(t, Inconclusive, answer.Verdict)
	require.Positive(t, answer.Rows[0].Tally.Violated, "by the defaults it is given away")
	require.Contains(t, answer.Rows[0].Reason, "give it with --config")
	a.Redis.Unread = ""
	require.Equal(t, Unsafe, judged(t, a).Verdict)
}
