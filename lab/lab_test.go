package lab

import (
	"context"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/scenarios"
)

func experiment(t *testing.T, name, variant string) *Experiment {
	t.Helper()
	all, err := scenarios.Select([]string{name})
	require.NoError(t, err)
	e, err := New(all[0], variant)
	require.NoError(t, err)
	return e
}

func verdictOf(t *testing.T, e *Experiment, property string) string {
	t.Helper()
	o, err := e.Run(context.Background(), suite.Run)
	require.NoError(t, err)
	require.NotEmpty(t, o.Trial.Events)
	return verdict([]suite.Result{o.Trial}, property)
}

// Unchanged experiments give the catalogue's verdicts.
func TestRun_UnchangedExperiments_CatalogueVerdicts(t *testing.T) {
	needs.Long(t, "it runs the catalogue")
	all, err := Catalogue()
	require.NoError(t, err)
	require.Greater(t, len(all), 40)
	for _, s := range all {
		for _, v := range append([]scenarios.Variant{{}}, s.Variants...) {
			e, err := New(s, v.Name)
			require.NoError(t, err)
			require.False(t, e.Changed())
			require.NotEmpty(t, e.Properties, s.Name)
			o, err := e.Run(context.Background(), suite.Run)
			require.NoError(t, err, s.Name)
			for property, want := range s.With(v).Expect {
				require.Equal(t, want, verdict([]suite.Result{o.Trial}, property), "%s %s", s.Name, v.Name)
			}
		}
	}
}

// A change of one control changes the verdict as in the scenario's lesson.
func TestRun_ChangedControl_ChangesVerdict(t *testing.T) {
	before := map[string]string{history.Holds: history.Violated, history.Violated: history.Holds}
	for _, tt := range []struct{ scenario, variant, property, form, after string }{
		{"restart-delay-too-short", "", checker.MutualExclusion, "restart-delay=1.1", history.Holds},
		{"restart-without-persistence", "", checker.MutualExclusion, "restart-delay=1.1", history.Holds},
		{"restart-without-persistence", "", checker.MutualExclusion, "persistence=aof-always", history.Holds},
		{"rolling-restart", "", checker.MutualExclusion, "persistence=aof-everysec", history.Holds},
		{"delayed-restart", "", checker.MutualExclusion, "restart-delay=0.9", history.Violated},
		{"fast-servers", "", checker.MutualExclusion, "drift=0.2", history.Holds},
		{"fast-servers", "drift factor 0.2", checker.MutualExclusion, "step-1=1.5", history.Violated},
		{"slow-client-clock", "", checker.MutualExclusion, "drift=0.25", history.Holds},
		{"slow-acquire", "", checker.MutualExclusion, "rule=ElapsedCheck", history.Violated},
		{"slow-acquire", "without ElapsedCheck", checker.MutualExclusion, "rule=", history.Holds},
		{"client-pause", "", checker.ProtectedData, "store=compare", history.Holds},
		{"client-pause", "", checker.ProtectedData, "store=fence", history.Holds},
		{"restart-delay-mixed-ttls", "", checker.MutualExclusion, "ttl-of-c1=1", history.Holds},
		{"clock-jump-forward", "", checker.MutualExclusion, "step-2=0.1", history.Holds},
	} {
		t.Run(tt.scenario+" "+tt.form, func(t *testing.T) {
			e := experiment(t, tt.scenario, tt.variant)
			require.Equal(t, before[tt.after], verdictOf(t, e, tt.property))
			form, err := url.ParseQuery(tt.form)
			require.NoError(t, err)
			require.NoError(t, e.Read(form))
			require.True(t, e.Changed())
			require.Equal(t, tt.after, verdictOf(t, e, tt.property))
		})
	}
}

// The verdict changes where the restart delay passes the TTL less the clock margin and the delay to the nodes.
func TestBoundary(t *testing.T) {
	e := experiment(t, "restart-delay-too-short", "")
	found, err := e.Boundary(context.Background(), suite.Run, e.Number("restart-delay"))
	require.NoError(t, err)
	require.Len(t, found.Rows, 1)
	require.Regexp(t, `^mutual-exclusion: violated from 0\.05 to [0-9.]+ TTL; holds from [0-9.]+ to 2 TTL\.$`,
		found.Rows[0].Text, "there is one boundary")
	from := found.Values[slices.Index(found.Rows[0].Verdicts, history.Holds)]
	require.InDelta(t, 0.99, from, 0.025, "several seeds ask at several moments")
	predicted := found.Predictable
	require.InDelta(t, 1.01, predicted, 1e-9, "a TTL, and the drift of the clocks")
	require.Contains(t, found.Values, predicted)
	require.Equal(t, predicted, found.Values[found.Predicted])
	require.LessOrEqual(t, from, predicted, "it holds from where it is predicted to")
	require.False(t, e.Changed(), "the control stands where it stood")
}

func TestRead_BadForm_Fails(t *testing.T) {
	for form, want := range map[string]string{
		"restart-delay=9":       `Restart delay: "9" is not a number from 0.05 to 2`,
		"restart-delay=-1":      "not a number",
		"restart-delay=NaN":     "not a number",
		"restart-delay=Inf":     "not a number",
		"restart-delay=":        "not a number",
		"ttl=0.01":              `TTL: "0.01" is not a number from 0.1 to 10`,
		"ttl=1s":                "not a number",
		"rule=Everything":       `Rule switched off: there is no "Everything"`,
		"persistence=<b>":       `Persistence: there is no "<b>"`,
		"drift=0.9":             "not a number",
		"ttl=2&restart-delay=x": "not a number",
		"seed=0":                `the seed "0" is not a whole number from 1 to 1000000`,
		"seed=1.5":              "not a whole number",
		"seed=1000001":          "not a whole number",
	} {
		e := experiment(t, "restart-delay-too-short", "")
		values, err := url.ParseQuery(form)
		require.NoError(t, err)
		require.ErrorContains(t, e.Read(values), want)
		require.False(t, e.Changed(), form)
	}
	_, err := New(experiment(t, "flushall", "").Catalogued, "no such variant")
	require.ErrorContains(t, err, "has no variant")
}

// A link contains all settings that differ from the catalogue, and nothing else.
func TestQuery_RestoresTheExperiment(t *testing.T) {
	require.Empty(t, experiment(t, "restart-delay-too-short", "").Query())
	e := experiment(t, "half-is-not-majority", "without Majority")
	require.NoError(t, e.Read(url.Values{"ttl": {"2.5"}, "drift": {"0.1"}, "seed": {"77"}}))
	query := e.Query()
	require.Equal(t, url.Values{"variant": {"without Majority"}, "ttl": {"2.5"}, "drift": {"0.1"}, "seed": {"77"}}, query)

	sent := experiment(t, "half-is-not-majority", query.Get("variant"))
	require.NoError(t, sent.Read(query))
	require.Equal(t, query, sent.Query())
	one, err := e.Run(t.Context(), suite.Run)
	require.NoError(t, err)
	other, err := sent.Run(t.Context(), suite.Run)
	require.NoError(t, err)
	require.Equal(t, one.Trial.Events, other.Trial.Events)
	require.EqualValues(t, 77, one.Trial.Seed)
}

// The longest experiments end with every control at either bound.
func TestRun_ControlsAtTheirBounds_Ends(t *testing.T) {
	needs.Long(t, "it runs each experiment at the ends of its controls")
	for _, name := range []string{"partition-during-contention", "majority-down", "aof-everysec-power-loss",
		"rolling-restart", "client-pause", "fast-servers"} {
		for _, most := range []bool{false, true} {
			e := experiment(t, name, "")
			for _, c := range e.Controls {
				if c.Options == nil {
					c.Value = Text(c.Least)
				}
				if c.Options == nil && most {
					c.Value = Text(c.Most)
				}
			}
			_, err := e.Run(context.Background(), suite.Run)
			require.NoError(t, err, "%s, at its most: %v", name, most)
		}
	}
}

func TestRun_CancelledContext_Fails(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := experiment(t, "flushall", "").Run(ctx, suite.Run)
	require.ErrorIs(t, err, context.Canceled)
}

// An added fault is a step of the scenario's file, which still parses and runs. A link contains it.
func TestAdd_Fault_BecomesAStep(t *testing.T) {
	original := experiment(t, "holder-partitioned", "").Catalogued
	added, text, err := Add(original, []string{"1 kill n1", "2 clock n2"})
	require.NoError(t, err)
	require.Contains(t, text, "script:\n  - kill: n1\n    after: 0.3 ttl\n  - acquire: c1\n")
	again, err := scenarios.Parse("again.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, again.Script, len(original.Script)+2)

	_, text, err = Add(original, []string{"2 kill c1"})
	require.NoError(t, err)
	require.Contains(t, text, "  - kill: c1\n  - ", "a client does not come back")

	e, err := New(added, "")
	require.NoError(t, err)
	e.Added = []string{"1 kill n1", "2 clock n2"}
	require.Equal(t, e.Added, e.Query()[FaultControl])
	require.True(t, e.Changed())
	o, err := e.Run(t.Context(), suite.Run)
	require.NoError(t, err)
	faults := map[string]bool{}
	for _, event := range o.Trial.Events {
		if event.Fault != nil {
			faults[string(event.Fault.Class)] = true
		}
	}
	require.True(t, faults[string(history.NodeDown)])
	require.True(t, faults[string(history.NodeClock)])
}

func TestAdd_BadFault_Fails(t *testing.T) {
	s := experiment(t, "client-pause", "").Catalogued
	for added, want := range map[string]string{
		"":             "want a step, a verb and a target",
		"0 kill n1":    `invalid step "0": want one from 1 to 8`,
		"9 kill n1":    `invalid step "9"`,
		"1 melt n1":    `invalid fault "melt"`,
		"1 kill n9":    `invalid target "n9"`,
		"1 pause n1\n": "",
	} {
		_, _, err := Add(s, []string{added})
		if want == "" {
			require.NoError(t, err, added)
			continue
		}
		require.ErrorContains(t, err, want, added)
	}
}
