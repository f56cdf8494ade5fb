package nemesis_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// freeze is a fault that only this file declares: it pauses a node.
func init() {
	nemesis.Declare(&nemesis.Declaration{
		Kind: "freeze", Doc: "lets the node freeze",
		Node:     &nemesis.Effect{Class: history.NodePaused},
		Optional: []string{"for"},
		Draw:     &nemesis.Draw{Required: []string{"for"}},
		EndedBy:  "thaw",
		Words: nemesis.Words{
			Instruction: func(o nemesis.Instruction) string { return "freeze " + o.Targets },
			Begin:       func(f history.Fault) string { return strings.Join(f.Targets, " and ") + " freezes" },
			End:         func(f history.Fault) string { return strings.Join(f.Targets, " and ") + " melts" },
			Past:        "was frozen",
		},
	}, freeze)
	nemesis.Declare(&nemesis.Declaration{
		Kind: "thaw", Doc: "melts what is frozen",
		Node: &nemesis.Effect{Class: history.Resumed},
		Words: nemesis.Words{
			Instruction: func(o nemesis.Instruction) string { return "thaw " + o.Targets },
			Begin:       func(f history.Fault) string { return strings.Join(f.Targets, " and ") + " melts" },
		},
	}, nemesis.EndKinds)
}

func freeze(n *nemesis.Nemesis, ctx context.Context, f nemesis.Fault, target string) (*nemesis.Active, error) {
	node, err := nemesis.NodeOf(n, target)
	if err != nil {
		return nil, err
	}
	if err := node.Pause(ctx); err != nil {
		return nil, err
	}
	return nemesis.BeginFault(n, f, target, map[string]string{"state": "ice"},
		func(ctx context.Context) (map[string]string, bool, error) {
			err := node.Resume(ctx)
			return map[string]string{"state": "water"}, true, err
		}), nil
}

// winter is a scenario with it: a majority is frozen while c1 acquires the lock.
const winter = `
name: winter
title: A majority freezes
source: a test
lesson: None.
clients: {c1: {}}
script:
  - freeze: [n1, n2, n3]
    for: 2 ttl
  - freeze: n4
  - acquire: c1
    within: 4 ttl
  - thaw: n4
expect: {fault-tolerance: holds, deadlock-freedom: holds}
`

// run runs a scenario in virtual time, and returns its history.
func run(t *testing.T, text string) (suite.Result, []history.Event) {
	t.Helper()
	s, err := scenarios.Parse("toy.yaml", []byte(text))
	require.NoError(t, err)
	trial, err := suite.Runner(suite.Run).One(context.Background(), suite.Job{Scenario: s},
		suite.Options{Cluster: suite.Virtual, Seed: 1, Events: true})
	require.NoError(t, err)
	require.Empty(t, trial.Failure)
	require.Empty(t, trial.Skipped)
	return trial, trial.Events
}

// judge returns the verdict on a history.
func judge(t *testing.T, events []history.Event) checker.Verdict {
	t.Helper()
	h, err := checker.Read(checker.InMemory(events))
	require.NoError(t, err)
	verdict, err := h.Verdict()
	require.NoError(t, err)
	return verdict
}

// faultsOf lists the faults of a history with their phases and targets.
func faultsOf(events []history.Event) []string {
	var all []string
	for _, e := range events {
		if f := e.Fault; f != nil {
			all = append(all, fmt.Sprintf("%s %s %s %s %s", f.Kind, f.Class, f.Phase, strings.Join(f.Targets, " "),
				f.Measured["state"]))
		}
	}
	return all
}

func TestDeclaration_SufficesForANewFault(t *testing.T) {
	t.Run("misused, it is refused with a place", func(t *testing.T) {
		for script, want := range map[string]string{
			"- freeze: c1":                 "toy.yaml:8:13: freeze: c1 is a client; it accepts nodes, for example `freeze: n3`",
			"- {freeze: n1, by: 20ms}":     `toy.yaml:8:18: freeze does not accept "by"; it accepts for`,
			"- freez: n1":                  `toy.yaml:8:5: unknown verb "freez"; did you mean "freeze"?`,
			"- {freeze: n1, for: a while}": `toy.yaml:8:23: for: "a while" is not a duration`,
		} {
			begin, rest, _ := strings.Cut(winter, "  - freeze: [n1, n2, n3]\n    for: 2 ttl\n")
			_, err := scenarios.Parse("toy.yaml", []byte(begin+"  "+script+"\n"+rest))
			require.ErrorContains(t, err, want)
		}
	})

	trial, events := run(t, winter)
	t.Run("it is applied, healed and recorded", func(t *testing.T) {
		require.Equal(t, []string{
			"freeze node-paused begin n1 ice", "freeze node-paused begin n2 ice", "freeze node-paused begin n3 ice",
			"freeze node-paused begin n4 ice", "freeze node-paused end n1 water", "freeze node-paused end n2 water",
			"freeze node-paused end n3 water", "freeze node-paused end n4 water",
		}, faultsOf(events))
	})
	t.Run("it is judged by what it does", func(t *testing.T) {
		standing, why := trial.Standing()
		require.Equal(t, suite.AsExpected, standing, why)
		// The same history, if the fault had harmed no node.
		harmless := slices.Clone(events)
		for i, e := range harmless {
			if e.Fault != nil {
				f := *e.Fault
				f.Class = history.NodeClock
				harmless[i].Fault = &f
			}
		}
		verdict := judge(t, harmless)
		i := slices.IndexFunc(verdict.Results, func(r checker.Result) bool { return r.Property == checker.FaultTolerance })
		require.Equal(t, history.Violated, verdict.Results[i].Verdict)
	})
	t.Run("it is told", func(t *testing.T) {
		s, err := scenarios.Parse("toy.yaml", []byte(winter))
		require.NoError(t, err)
		require.Equal(t, "freeze n1, n2 and n3 for 2 ttl", reports.StepText(s.Script[0]))
		h, err := reports.NewHistory(events)
		require.NoError(t, err)
		story := h.Tell(nil)
		var told []string
		for _, m := range story.Marks {
			told = append(told, m.Text)
		}
		require.Contains(t, told, "n1 and n2 and n3 and n4 freezes")
		require.True(t, slices.ContainsFunc(told, func(text string) bool { return strings.HasSuffix(text, " melts") }), told)
		require.True(t, slices.ContainsFunc(story.Nodes[0].Stretches,
			func(s reports.Stretch) bool { return s.State == reports.Paused }))
	})
	t.Run("the lab turns it", func(t *testing.T) {
		s, err := scenarios.Parse("toy.yaml", []byte(winter))
		require.NoError(t, err)
		e, err := lab.New(s, "")
		require.NoError(t, err)
		require.Equal(t, "Length of the freeze of n1, n2, n3", e.Number("step-1").Label)
	})
	t.Run("it is drawn", func(t *testing.T) {
		_, events := run(t, `
name: weather
title: Nodes freeze now and then
source: a test
lesson: None.
workload: {clients: 2, for: 5 ttl}
nemesis:
  - {fault: freeze, among: [n1, n2], every: 1 ttl, for: 0.5 ttl}
expect: {mutual-exclusion: holds}
`)
		all := faultsOf(events)
		require.GreaterOrEqual(t, len(all), 4)
		for i, f := range all {
			require.Contains(t, f, []string{"freeze node-paused begin", "freeze node-paused end"}[i%2])
		}
	})
	t.Run("it is documented", func(t *testing.T) {
		i := slices.IndexFunc(scenarios.Usages(), func(u scenarios.Usage) bool { return u.Verb == "freeze" })
		require.Equal(t, scenarios.Usage{Verb: "freeze", Targets: nemesis.Nodes, Optional: []string{"for"},
			Doc: "lets the node freeze"}, scenarios.Usages()[i])
	})
}

// Histories of older releases have no class.
func TestClassify_OldHistories(t *testing.T) {
	_, events := run(t, winter)
	for i := range events {
		if f := events[i].Fault; f != nil {
			f.Class, f.Past = "", ""
		}
	}
	var lines bytes.Buffer
	w := history.NewWriter(&lines)
	for _, e := range events {
		w.Write(e)
	}
	require.NoError(t, w.Close())
	read, err := history.Read(&lines)
	require.NoError(t, err)
	require.Equal(t, "freeze node-paused begin n1 ice", faultsOf(read)[0])
	for _, r := range judge(t, read).Results {
		require.NotEqual(t, history.Violated, r.Verdict)
	}
}
