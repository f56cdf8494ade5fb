package explore

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

func space(t testing.TB, change func(*Space)) Space {
	s := Space{Lock: "redlock", TTL: time.Second}
	if change != nil {
		change(&s)
	}
	require.NoError(t, s.prepare())
	return s
}

func breakAllAssumptions(s *Space) { s.Break = []Assumption{Memory, Clocks, Pauses, Servers} }

func TestDraw_UsesLocksServerCount(t *testing.T) {
	s := space(t, breakAllAssumptions)
	s.can.Servers = 3
	for seed := range uint64(200) {
		require.Equal(t, 3, s.Draw(seed).Nodes)
	}
}

func TestSchedule_ReadsBackAsScenario(t *testing.T) {
	s := space(t, breakAllAssumptions)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := s.Draw(rapid.Uint64().Draw(rt, "seed"))
		out := drawn.Scenario("drawn", map[string]string{"mutual-exclusion": "holds"})
		out.Title, out.Source, out.Lesson = "it's: a \"test\"", []string{"- s"}, "# l"
		text := Text(out)
		if len(drawn.Steps) == 0 {
			return
		}
		read, err := scenarios.Parse("drawn.yaml", text)
		require.NoError(rt, err, string(text))
		require.Equal(rt, []string{`it's: a "test"`, "- s", "# l"}, []string{read.Title, read.Source[0], read.Lesson})
		require.Len(rt, read.Script, len(out.Script))
		for i, step := range read.Script {
			step.Line, step.Column = 0, 0
			require.Equal(rt, fixedSpans(out.Script[i], s.TTL), fixedSpans(step, s.TTL), string(text))
		}
	})
}

// fixedSpans converts a step's spans to units of time, and adds the default direction.
func fixedSpans(s scenarios.Step, ttl time.Duration) scenarios.Step {
	for _, span := range []*scenarios.Span{&s.Wait, &s.Within, &s.For, &s.After, &s.By, &s.Jump} {
		*span = scenarios.Span{Fixed: span.In(ttl).Round(time.Microsecond)}
	}
	if s.Direction == "" && (s.Verb == nemesis.Cut || s.Verb == nemesis.Delay) {
		s.Direction = "both"
	}
	return s
}

func TestDraw_KeepsAssumptions(t *testing.T) {
	s := space(t, nil)
	for seed := range uint64(500) {
		drawn := s.Draw(seed)
		require.Empty(t, drawn.Aliases)
		require.EqualValues(t, "aof-always", drawn.Persistence)
		for _, step := range drawn.Steps {
			require.NotEqual(t, scenarios.Verb(nemesis.Flush), step.Verb)
			if step.Verb == nemesis.Clock {
				require.True(t, step.Targets[0][0] == 'c' || step.Jump.IsZero(), "no node's clock jumps")
				require.True(t, step.Rate == 0 || step.Rate >= 0.995 && step.Rate <= 1.005)
			}
		}
	}
}

// The deletion of a key by a third party needs a search that lets nodes forget.
func TestDraw_IncludesFaultsThatUsersReport(t *testing.T) {
	drawn := map[scenarios.Verb]int{}
	kept, lost := space(t, nil), space(t, breakAllAssumptions)
	for seed := range uint64(500) {
		for _, step := range kept.Draw(seed).Steps {
			drawn[step.Verb]++
		}
		for _, step := range lost.Draw(seed).Steps {
			if step.Verb == nemesis.DeleteKey {
				drawn[step.Verb]++
			}
		}
	}
	for _, verb := range []scenarios.Verb{nemesis.ScriptFlush, nemesis.Starve, nemesis.Demote, scenarios.VerbCancel,
		nemesis.DeleteKey} {
		require.Positive(t, drawn[verb], verb)
	}
}

func run(t *testing.T, s Search) Tally {
	t.Helper()
	tally, err := s.Run(t.Context())
	require.NoError(t, err)
	return tally
}

// With all assumptions broken, no trial fails.
func TestDraw_IsRunnable(t *testing.T) {
	p := pool(t)
	search := Search{Question: Question{Space: space(t,
		func(s *Space) { breakAllAssumptions(s); s.Without = []string{"DistinctNodes"} }),
		Seed: 7, Schedules: 256},
		Try: p.Try, Parallel: p.Size()}
	tally := run(t, search)
	require.Empty(t, tally.Failed)
	require.Equal(t, 256, tally.Schedules)
}

// The reference lock keeps its promises while the assumptions hold. If the two oracles disagree, a trial fails.
func TestSearch_ReferenceIsNeverViolated(t *testing.T) {
	needs.Long(t, "it runs thousands of drawn schedules")
	p := pool(t)
	search := Search{Question: Question{Space: space(t, nil), Seed: 11, Schedules: 2000}, Try: p.Try, Parallel: p.Size()}
	tally := run(t, search)
	require.Empty(t, tally.Failed)
	require.Empty(t, tally.Finds)
	for _, property := range []string{checker.MutualExclusion, checker.DeadlockFreedom, checker.FaultTolerance} {
		require.Positive(t, tally.Verdicts[property][history.Holds], "%s: this shows nothing: %v", property, tally.Verdicts)
	}
}

// withoutCompareAndDelete is a search for one violation of mutual exclusion.
func withoutCompareAndDelete(t *testing.T, p *suite.Pool) Search {
	return Search{Question: Question{Space: space(t, func(s *Space) {
		s.Without, s.Properties = []string{"CompareAndDelete"}, []string{"mutual-exclusion"}
	}), Enough: 1}, Shrink: time.Minute, Try: p.Try, Parallel: p.Size()}
}

// A missing rule is found and shrunk to a few steps, and the scenario file reproduces the violation.
func TestFind_ScenarioShowsViolation(t *testing.T) {
	p := pool(t)
	search := withoutCompareAndDelete(t, p)
	search.Seed, search.Schedules = 1, 1280
	tally := run(t, search)
	require.Len(t, tally.Finds, 1)
	f := tally.Finds[0]
	require.Equal(t, FindID{Property: "mutual-exclusion", Faults: unknownFaults}, f.FindID, "without experiments")
	require.LessOrEqual(t, len(f.Shrunk.Steps), 10)
	require.Less(t, len(f.Shrunk.Steps), len(f.Drawn.Steps))

	path, read, err := search.Write(f, t.TempDir())
	require.NoError(t, err)
	require.FileExists(t, path)
	for _, off := range [][]string{nil, {"CompareAndDelete"}} {
		r := p.Try(t.Context(), suite.Job{Scenario: read, Without: off, AllowBetter: true}, f.Seed)
		require.Empty(t, r.Failure)
		require.Equal(t, len(off) > 0, search.Space.Breaks(r, "mutual-exclusion"), "without %v", off)
	}
}

// shrink keeps the two necessary steps, wherever they are, and rounds their times.
func TestShrink_KeepsNecessarySteps(t *testing.T) {
	s := space(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		drawn := s.Draw(rapid.Uint64().Draw(rt, "seed"))
		twoAcquires := func(c *Schedule) bool {
			acquires := 0
			for _, step := range c.Steps {
				if step.Verb == scenarios.VerbAcquire {
					acquires++
				}
			}
			return acquires >= 2
		}
		if !twoAcquires(drawn) {
			return
		}
		tries := 0
		got := shrink(drawn, func(c *Schedule) bool { tries++; return twoAcquires(c) }, func() bool { return tries > 5000 })
		require.Len(rt, got.Steps, 2)
		require.Equal(rt, 3, got.Nodes)
		for _, step := range got.Steps {
			require.Zero(rt, step.Within.In(s.TTL)%(s.TTL/200), "a round time")
		}
	})
}

func TestSearch_TrialFails_SearchContinues(t *testing.T) {
	s := Search{Question: Question{Space: space(t, nil), Schedules: 10}, Parallel: 1}
	s.Try = func(_ context.Context, _ suite.Job, seed uint64) suite.Result {
		if seed == 4 {
			return suite.Result{Failure: "panic: no"}
		}
		return suite.Result{}
	}
	tally := run(t, s)
	require.Equal(t, 10, tally.Schedules)
	require.Len(t, tally.Failed, 1)
	require.Equal(t, "panic: no", tally.Failed[0].Why)
	require.Equal(t, s.Space.Draw(4), tally.Failed[0].Schedule)
}

func TestSearch_NothingTested_SummaryHasReason(t *testing.T) {
	s := Search{Question: Question{Space: space(t, nil), Schedules: 2}, Parallel: 1}
	s.Try = func(context.Context, suite.Job, uint64) suite.Result {
		vacuous := checker.Result{Property: checker.MutualExclusion}
		vacuous.Undecide(checker.Vacuous, "no contention")
		unknown := checker.Result{Property: checker.DeadlockFreedom}
		unknown.Undecide(checker.Unknown, "c1 sent n1 ZADD")
		return suite.Result{Results: []checker.Result{vacuous, unknown}}
	}
	tally := run(t, s)
	require.Contains(t, s.Summary(tally), "nothing was put to the test, the first time since unknown: c1 sent n1 ZADD\n")
}

func TestSummary(t *testing.T) {
	s := Search{Question: Question{Space: space(t, nil), Seed: 1}}
	tally := Tally{Schedules: 1000, Elapsed: time.Second, Verdicts: map[string]map[string]int{
		"mutual-exclusion": {history.Holds: 300, history.Inconclusive: 700},
	}}
	require.Equal(t, "redlock: 1000 schedules in 1 s\n"+
		"  mutual-exclusion   violated in 0 of 300 that test it; with 95 % confidence, in at most 1 of 79\n",
		s.Summary(tally))
}

func TestMain(m *testing.M) {
	clustertest.Main(m, map[string]func(io.Reader, io.Writer) error{"trials": suite.ServeTrials})
}

// pool runs trials in child processes that end with the test.
func pool(t testing.TB) *suite.Pool {
	t.Helper()
	children := &suite.Children{}
	p, err := children.Pool(suite.Options{Cluster: suite.Virtual})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(children.Close)
	return p
}

// Schedules are distinct, the small ones first, and can be loaded as scenario files.
func TestExhaust_CoversSmallScope(t *testing.T) {
	needs.Long(t, "it runs every schedule of a scope")
	for _, change := range []func(*Space){nil, breakAllAssumptions, func(s *Space) { s.Lock = "redsync" }} {
		s := space(t, change)
		all := s.All()
		seen := map[string]bool{}
		for i, schedule := range all {
			text, err := json.Marshal(schedule)
			require.NoError(t, err)
			require.False(t, seen[string(text)], "%d is there twice", i)
			seen[string(text)] = true
			require.True(t, i == 0 || len(all[i-1].Steps) <= len(schedule.Steps), "%d has fewer steps than the one before", i)
			if i%97 == 0 {
				out := schedule.Scenario("small", map[string]string{"mutual-exclusion": "holds"})
				out.Title, out.Source, out.Lesson = "t", []string{"s"}, "l"
				file := Text(out)
				_, err := scenarios.Parse("small.yaml", file)
				require.NoError(t, err, string(file))
			}
		}
		require.Greater(t, len(all), 5000)
	}
}

// The first find is among the shortest schedules, so it needs no shrinking.
func TestExhaust_FindsShortest(t *testing.T) {
	search := withoutCompareAndDelete(t, pool(t))
	require.NoError(t, search.Exhaust())
	tally := run(t, search)
	require.Len(t, tally.Finds, 1)
	require.LessOrEqual(t, len(tally.Finds[0].Drawn.Steps), 4)
}
