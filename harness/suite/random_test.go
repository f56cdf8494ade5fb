package suite

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// TestRandomWorkloadsNeverViolateMutualExclusion: whatever networks, nodes and
// clients do, the reference keeps its promise as long as nodes remember and
// clocks run alike. A disagreement of the two oracles would be a failure of the
// trial.
func TestRandomWorkloadsNeverViolateMutualExclusion(t *testing.T) {
	needs.Long(t, "it runs many random workloads")
	held, faults := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		s := randomScenario(rt)
		o := Options{Cluster: Virtual, Trials: 1, Seed: rapid.Uint64().Draw(rt, "seed")}
		trials, err := Run(context.Background(), []Job{{Scenario: s}}, o, func(Result) {})
		require.NoError(rt, err)
		trial := trials[0]
		require.Empty(rt, trial.Failure)
		require.NotEqual(rt, history.Violated, trial.verdict(checker.MutualExclusion), "%+v", trial.Results)
		require.NotEqual(rt, history.Violated, trial.verdict(checker.Fencing))
		if trial.verdict(checker.MutualExclusion) == history.Holds {
			held++
			faults += len(s.Nemesis)
		}
	})
	require.Positive(t, held, "no run earned its verdict: this shows nothing")
	require.Positive(t, faults)
}

// randomScenario draws clients in closed loops, and faults of which none breaks
// an assumption.
func randomScenario(t *rapid.T) *scenarios.Scenario {
	s := &scenarios.Scenario{
		Name: "random", On: []string{Virtual}, TTL: time.Second, Persistence: cluster.PersistAlways,
		Expect: map[string]string{checker.MutualExclusion: history.Holds},
		Workload: &scenarios.Workload{
			Threads: rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "threads"),
			Clients: rapid.IntRange(2, 4).Draw(t, "clients"), Keys: rapid.IntRange(1, 2).Draw(t, "keys"), For: scenarios.Span{TTLs: 4},
			Hold: ttls(t, "hold", 0.02, 1.2), Think: ttls(t, "think", 0.02, 0.3),
		},
	}
	for i := range rapid.SampledFrom([]int{3, 4, 5}).Draw(t, "nodes") {
		s.Nodes = append(s.Nodes, fmt.Sprint("n", i+1))
	}
	var clients, links []string
	for i := range s.Workload.Clients {
		clients = append(clients, fmt.Sprint("w", i+1))
	}
	for _, c := range clients {
		for _, n := range s.Nodes {
			links = append(links, c+"-"+n)
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "faults") {
		r := scenarios.Random{Candidates: s.Nodes, Fault: rapid.SampledFrom([]scenarios.Verb{
			nemesis.Cut, nemesis.Delay, nemesis.Pause, nemesis.Kill, nemesis.PowerLoss, nemesis.Shutdown,
		}).Draw(t, "fault")}
		switch r.Fault {
		case nemesis.Cut:
			r.Candidates = links
			r.Direction = rapid.SampledFrom([]cluster.Direction{cluster.Both, cluster.ToNode, cluster.ToClient}).Draw(t, "direction")
		case nemesis.Delay:
			r.Candidates, r.By = links, ttls(t, "by", 0.005, 0.5)
		case nemesis.Pause:
			r.Candidates = append(append([]string(nil), s.Nodes...), clients...)
		}
		r.Count = rapid.IntRange(1, len(r.Candidates)).Draw(t, "count")
		r.Every = scenarios.Range{Min: ttls(t, "every", 0.2, 0.6), Max: ttls(t, "every", 0.7, 2)}
		r.For = scenarios.Range{Min: ttls(t, "for", 0.01, 0.5), Max: ttls(t, "for", 0.6, 1.5)}
		s.Nemesis = append(s.Nemesis, r)
	}
	return s
}

// ttls draws a time in TTLs.
func ttls(t *rapid.T, name string, least, most float64) scenarios.Span {
	return scenarios.Span{TTLs: rapid.Float64Range(least, most).Draw(t, name)}
}
