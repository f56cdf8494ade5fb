package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
	"example.org/lockproof/scenarios"
)

// ran is the result of a command.
type ran struct {
	code     int
	out, err string
}

// fake is a program with a suite that returns trial's results.
func fake(trial func(suite.Job, int) suite.Result) *program {
	return &program{
		screen: terminal.Screen{Width: 80},
		width:  func() int { return 80 },
		clean: func(_ context.Context, w io.Writer) error {
			_, err := io.WriteString(w, "nothing was left behind\n")
			return err
		},
		suite: func(_ context.Context, jobs []suite.Job, o suite.Options, observe func(suite.Result)) ([]suite.Result,
			error) {
			planned, err := o.Planned(jobs)
			var trials []suite.Result
			for _, job := range jobs {
				for n := range planned[job.Name()] {
					t := trial(job, n)
					t.Scenario, t.Variant, t.Trial, t.Cluster, t.Lock = job.Scenario.Name, job.Variant, n, o.Cluster, "redlock"
					observe(t)
					trials = append(trials, t)
				}
			}
			return trials, err
		},
	}
}

func (p *program) try(args ...string) ran { return p.tryWith(context.Background(), "", args...) }

// tryWith runs a command with a context and a standard input.
func (p *program) tryWith(ctx context.Context, in string, args ...string) ran {
	var out, err strings.Builder
	p.in, p.out, p.err = strings.NewReader(in), &out, &err
	code := p.main(ctx, append([]string{}, args...)) // without any, not the test binary's own
	return ran{code, out.String(), err.String()}
}

// requireExit requires an error with an exit code.
func requireExit(t *testing.T, code int, err error) {
	t.Helper()
	var ended *exit
	require.ErrorAs(t, err, &ended)
	require.Equal(t, code, ended.code, err)
}

// An early interrupt is not a failure of the harness.
func TestRun_InterruptedBeforeFirstTrial_IsInconclusive(t *testing.T) {
	p := fake(nil)
	p.suite = func(ctx context.Context, _ []suite.Job, _ suite.Options, _ func(suite.Result)) ([]suite.Result, error) {
		return nil, fmt.Errorf("the run was interrupted before the cluster was ready: %w", ctx.Err())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out := filepath.Join(t.TempDir(), "out")
	require.Equal(t, reports.ExitInconclusive, p.tryWith(ctx, "", "run", "flushall", "--out", out).code)
	report, err := reports.Read(out)
	require.NoError(t, err)
	require.True(t, report.Interrupted)
}

func verdict(expected, got string) func(suite.Job, int) suite.Result {
	return func(suite.Job, int) suite.Result {
		return suite.Result{
			Expect:  map[string]string{checker.MutualExclusion: expected},
			Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: got}},
		}
	}
}

var expected = verdict(history.Holds, history.Holds)

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"rnu"}, `there is no command "rnu": did you mean "run"?`},
		{[]string{"zzzzzzzzzz"}, "there are check, clean, compare, doctor, explore, help, list, merge, run, serve, show, " +
			"test, validate"},
		{[]string{"hlep"}, `did you mean "help"?`},
		{[]string{"help", "tset"}, `there is no command "tset": did you mean "test"?`},
		{[]string{"run", "--trails", "3"}, "lockproof run has no flag --trails: did you mean \"--trials\"?"},
		{[]string{"--vers"}, "lockproof has no flag --vers: did you mean \"--version\"?"},
		{[]string{"run", "--trials", "many"}, "--trials many: want a whole number"},
		{[]string{"run", "--trials", "0"}, "--trials 0: give a number from 1 to 100000"},
		{[]string{"run", "--seed", "-1"}, "--seed -1: want a whole number, 0 or more"},
		{[]string{"run", "--ttl", "30"}, "--ttl 30: want a duration with a unit, for example 500ms, 30s or 2m"},
		{[]string{"run", "--ttl", "19ms"}, "--ttl 19ms: a TTL lies between 20ms and 10m"},
		{[]string{"run", "--parallel", "0"}, "--parallel 0: give a number from 1 to 256"},
		{[]string{"run", "--out", ""}, "--out is empty"},
		{[]string{"run", "flushall", "--out", "main_test.go/out"}, "--out cannot make the output folder: mkdir main_test.go"},
		{[]string{"run", "flushall", "--out", "main_test.go"}, "main_test.go: not a directory"},
		{[]string{"run", "--nodes", "0"}, "--nodes 0: give 1, 3 or 5"},
		{[]string{"run", "--nodes", "2"}, "--nodes 2: give 1, 3 or 5"},
		{[]string{"run", "--verbose=maybe"}, "--verbose maybe: want true or false"},
		{[]string{"run", "--worker", " "}, "--worker: it names no program: 'python3 my_lock.py' is right"},
		{[]string{"run", "--worker", ""}, "--worker is empty: give a value, or leave out the flag"},
		{[]string{"run", "flushall", "--without", ""}, "--without is empty"},
		{[]string{"explore", "--property", ""}, "--property is empty"},
		{[]string{"merge", "a", "--out", ""}, "--out is empty"},
		{[]string{"run", "--worker", "no-such-lock", "--on", "local"}, "--worker: there is no program no-such-lock"},
		{[]string{"worker-check", "no-such-lock"}, "there is no program no-such-lock"},
		{[]string{"run", "--worker", "python3 x.py", "--on", "local", "--cause"},
			"--cause and --worker: experiments need virtual time"},
		{[]string{"run", "--on", "virtul"}, "--on virtul: there is no such cluster: did you mean \"virtual\"?"},
		{[]string{"run", "--lock", "redlok"}, "--lock redlok: there is no such lock: did you mean \"redlock\"?"},
		{[]string{"run", "--lock", "REDSYNC"}, "--lock REDSYNC: there is no such lock: did you mean \"redsync\"?"},
		{[]string{"run", "--lock", "red"}, "--lock red: there is no such lock: did you mean \"redlock\" or \"redlock-fenced"},
		{[]string{"run", "--without", "Majorty"}, "--without Majorty: there is no such rule: did you mean \"Majority\"?"},
		{[]string{"run", "--without", "Majority,elapsedcheck"},
			"--without elapsedcheck: there is no such rule: did you mean \"ElapsedCheck\"?"},
		{[]string{"run", "--lock", "redsync", "--without", "Majority"}, "redsync has no rules to switch off"},
		{[]string{"run", "--server", "redis-unstable"}, "there is no such server on virtual: "},
		{[]string{"run", "--slice", "2"}, `--slice: invalid slice "2": want INDEX/COUNT, for example 17/100`},
		{[]string{"run", "client-puase"}, "client-pause"},
		{[]string{"compare", "out"}, "lockproof compare needs the output folders of at least two runs"},
		{[]string{"compare", "nope", "none"}, "cannot read nope/results.json: no such file or directory"},
		{[]string{"show"}, "lockproof show needs one scenario's name or file"},
		{[]string{"check"}, "lockproof check needs one history file"},
		{[]string{"check", "missing.jsonl"}, "cannot read the history missing.jsonl: no such file or directory"},
		{[]string{"list", "x"}, `unexpected argument "x"`},
		{[]string{"doctor", "dokcer"}, `there is no cluster "dokcer": did you mean "docker"?`},
		{[]string{"explore", "--lock", "single", "--exhaust"}, "--exhaust runs schedules on three nodes, but --lock single " +
			"uses one"},
		{[]string{"explore", "--worker", "python3 x.py", "--exhaust"}, "--exhaust goes with a search in virtual time, and " +
			"--worker runs in real time"},
		{[]string{"explore", "--lock", "redsync", "--without", "Majority"}, "redsync has no rules to switch off"},
		{[]string{"explore", "--break", "memmory"}, `--break memmory: there is no such assumption`},
		{[]string{"explore", "--property", "mutual"}, `there is no such property: did you mean "mutual-exclusion"?`},
		{[]string{"explore", "--for", "0"}, "--for 0 without --schedules would never end"},
		{[]string{"explore", "--enough", "-1"}, "must not be negative"},
		{[]string{"explore", "--exhaust", "--seed", "3"},
			"--exhaust runs every schedule of its scope: give it without --schedules and --seed"},
		{[]string{"explore", "flushall"}, `explore: unexpected argument "flushall": want no arguments`},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			got := fake(expected).try(tt.args...)
			require.Equal(t, exitUsage, got.code)
			require.Contains(t, got.err, tt.want)
			require.True(t, strings.HasPrefix(got.err, "lockproof: "))
			require.Empty(t, got.out)
		})
	}
}

func TestRun_ExitCode_IsThatOfItsReport(t *testing.T) {
	for got, want := range map[string]int{history.Holds: 0, history.Violated: reports.ExitDiffers} {
		out := filepath.Join(t.TempDir(), "out")
		ended := fake(verdict(history.Holds, got)).try("run", "client-pause", "--out", out, "--trials", "2")
		require.Equal(t, want, ended.code, ended.out)
		require.Empty(t, ended.err)
		require.Contains(t, ended.out, "Written to "+out)
		report, err := reports.Read(out)
		require.NoError(t, err)
		require.Equal(t, want, report.ExitCode())
	}
}

func TestRun_PassesOptionsToTheSuite(t *testing.T) {
	p := fake(expected)
	var options suite.Options
	var jobs []suite.Job
	run := p.suite
	p.suite = func(ctx context.Context, js []suite.Job, o suite.Options, observe func(suite.Result)) ([]suite.Result,
		error) {
		options, jobs = o, js
		return run(ctx, js, o, observe)
	}
	got := p.try("run", "half-is-not-majority", "--on", "local", "--trials", "3", "--seed", "9", "--ttl", "2s",
		"--without", "Majority,FreshToken", "--without", "Majority", "--out", t.TempDir(), "--parallel", "2")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "local", options.Cluster)
	require.Equal(t, []any{3, uint64(9), 2}, []any{options.Trials, options.Seed, options.Parallel})
	require.Equal(t, "2s", options.TTL.String())
	require.Equal(t, []string{"Majority", "FreshToken"}, options.Without)
	require.Equal(t, suite.DefaultRetries, options.Retries)
	require.Len(t, jobs, 1)
	require.True(t, jobs[0].AllowBetter)
}

func TestRun_NoNames_RunsTheCatalogue(t *testing.T) {
	got := fake(expected).try("run", "--verbose", "--out", t.TempDir())
	require.Equal(t, 0, got.code)
	all, err := scenarios.Catalogue()
	require.NoError(t, err)
	for _, s := range all {
		require.Contains(t, got.out, s.Name)
	}
}

func TestPipe_VerboseGetsOneLinePerRow(t *testing.T) {
	got := fake(expected).try("run", "half-is-not-majority", "--verbose", "--trials", "3", "--out", t.TempDir())
	before, _, _ := strings.Cut(got.out, "\n\n")
	require.Equal(t, []string{
		"as expected: half-is-not-majority: mutual-exclusion: holds (3 trials, 0 s)",
		"as expected: half-is-not-majority (without Majority): mutual-exclusion: holds (3 trials, 0 s)",
	}, strings.Split(before, "\n"))
	require.NotContains(t, got.out, "\x1b")
}

func TestTerminal_RemovesItsLiveDisplay(t *testing.T) {
	p := fake(verdict(history.Holds, history.Violated))
	p.live = true
	got := p.try("run", "half-is-not-majority", "--trials", "3", "--out", t.TempDir())
	require.Contains(t, got.out, " of 6 trials")
	display, _, _ := strings.Cut(got.out, "Written to")
	for line := range strings.Lines(ansi.Strip(display)) {
		require.LessOrEqual(t, ansi.StringWidth(strings.TrimRight(line, "\n")), 80, "%q", line)
	}
	last := got.out[strings.LastIndex(got.out, ansi.EraseEntireLine):]
	require.NotContains(t, last, " of 6 trials", "the display is erased before the table")
	require.Contains(t, last, "DIFFERS: half-is-not-majority")
}
