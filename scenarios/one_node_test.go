package scenarios

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	require.Equal(t, []string{"c1-n1", "c2-n1", "w1-n1", "w2-n1"}, form.Nemesis[0].Candidates)
	require.Equal(t, 4, form.Nemesis[0].Count)
	require.Len(t, s.Nodes, 5, "the scenario stays as it is")
	require.Equal(t, []string{"c1-n2", "c1-n3", "c2-store", "r1-n1"}, s.Script[0].Targets)

	require.Equal(t, "on one node, rdb", s.Variants[1].Name)
	require.Equal(t, []string{"n1"}, s.With(s.Variants[1]).Script[1].Targets)
}

// Every form says of the first node alone what its scenario says of all.
func TestOneNode_VariantsNameOnlyTheFirstNode(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	other := regexp.MustCompile(`\bn[2-9]\b`)
	for _, s := range all {
		if s.OneNode() == "" {
			continue
		}
		v, err := s.Find(s.OneNode())
		require.NoError(t, err)
		form := s.With(v)
		for _, step := range form.Script {
			for _, target := range append(step.Targets, step.Reaching...) {
				require.NotRegexp(t, other, target, s.Name)
			}
		}
	}
}

// A lock on one node has a form of each scenario, or is told why there is none.
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
