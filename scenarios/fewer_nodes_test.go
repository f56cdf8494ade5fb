package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnNodes_KeepsMajorities(t *testing.T) {
	for _, c := range []struct{ name, five, three string }{
		{"a minority of two becomes one", "flush: [n1, n2]", "flush: [n1]"},
		{"a majority of just three becomes two", "flush: [n1, n3, n5]", "flush: [n1, n2]"},
		{"four become all three", "flush: [n1, n2, n3, n4]", ""},
		{"two majorities that meet in one node still do", "cut: [c1-n4, c1-n5, c2-n1, c2-n2]", "cut: [c1-n2, c2-n1]"},
		{"no node can be in every minority", "flush: [n1, n2]\n  - flush: [n2, n3]\n  - flush: [n3, n4]\n  - flush: [n4, " +
			"n5]\n  - flush: [n5, n1]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			form := withScript(t, 5, c.five).OnNodes(3)
			if c.three == "" {
				require.Nil(t, form)
				return
			}
			require.Equal(t, []string{"n1", "n2", "n3"}, form.Nodes)
			want := withScript(t, 3, c.three)
			require.Len(t, form.Script, len(want.Script))
			for i := range want.Script {
				require.Len(t, form.Script[i].Targets, len(want.Script[i].Targets), form.Script[i].Targets)
			}
		})
	}
	same := withScript(t, 3, "flush: [n1]")
	require.Same(t, same, same.OnNodes(3), "as it stands")
	require.Nil(t, same.OnNodes(5), "none on more")
}

func withScript(t *testing.T, nodes int, step string) *Scenario {
	t.Helper()
	text := `name: drawn
title: it
source: s
lesson: l
clients: [c1, c2]
nodes: NODES
script:
  - STEP
  - acquire: c1
expect: {mutual-exclusion: holds}
`
	s, err := Parse("drawn.yaml", []byte(strings.NewReplacer("NODES", string(rune('0'+nodes)), "STEP",
		step).Replace(text)))
	require.NoError(t, err)
	return s
}

func TestOneNode_MergesNodesIntoTheFirst(t *testing.T) {
	s, err := Parse("x.yaml", []byte(`
name: x
title: What is said of any node is said of the first
source: a test
lesson: One sentence.
replicas: {r1: n1}
clients:
  c1: {reach: [n1, n2, n3, r1]}
  c2: {nodes: [n5, n4], far: n4, far-delay: 5ms}
script:
  - cut: ["c1-n2", "c1-n3", "c2-store", "r1-n1"]
  - acquire: c1
    reaching: [n4, n5]
  - kill: n3
workload: {clients: 2, for: 5 ttl}
nemesis:
  - {fault: cut, among: ["*-n2", "*-n3"], count: 6, every: 1 ttl, for: 0.5 ttl}
expect: {mutual-exclusion: holds}
variants:
  - nodes: 1
  - nodes: 1
    persistence: rdb
    script:
      - acquire: c2
      - pause: n4
        for: 1 ttl
`))
	require.NoError(t, err)
	require.Equal(t, "on one node", s.OneNode())
	form := s.With(s.Variants[0])
	require.Equal(t, []string{"n1"}, form.Nodes)
	require.Equal(t, []string{"n1", "r1"}, form.Clients[0].Reach)
	require.Equal(t, []string{"n1"}, form.Clients[1].Nodes)
	require.Equal(t, []string{"n1"}, form.Clients[1].FarNodes)
	require.Equal(t, []string{"c1-n1", "c2-store", "r1-n1"}, form.Script[0].Targets)
	require.Equal(t, []string{"n1"}, form.Script[1].Reaching)
	require.Equal(t, []string{"n1"}, form.Script[2].Targets)
	require.Equal(t, []string{"c1-n1", "c2-n1", "w1-n1", "w2-n1"}, form.Nemesis[0].Targets)
	require.Equal(t, 4, form.Nemesis[0].Count)
	require.Len(t, s.Nodes, 5, "the scenario stays as it is")
	require.Equal(t, []string{"c1-n2", "c1-n3", "c2-store", "r1-n1"}, s.Script[0].Targets)

	require.Equal(t, "on one node, rdb", s.Variants[1].Name)
	require.Equal(t, []string{"n1"}, s.With(s.Variants[1]).Script[1].Targets)
}

// Each multi-node scenario has a single-node variant, or a reason for its absence.
func TestOneNode_MissingVariantHasReason(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	for _, s := range all {
		if s.VotingNodes() > 1 {
			require.NotEqual(t, s.OneNode() == "", s.MultiNodeReason == "", s.Name)
		} else {
			require.Empty(t, s.MultiNodeReason, s.Name)
		}
	}
}
