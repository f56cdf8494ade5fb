package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Fewer nodes stand for more such that minorities and majorities stay what they are.
func TestOnNodes(t *testing.T) {
	for _, c := range []struct{ name, five, three string }{
		{"a minority of two becomes one", "flush: [n1, n2]", "flush: [n1]"},
		{"a majority of just three becomes two", "flush: [n1, n3, n5]", "flush: [n1, n2]"},
		{"four become all three", "flush: [n1, n2, n3, n4]", ""},
		{"two majorities that meet in one node still do", "cut: [c1-n4, c1-n5, c2-n1, c2-n2]", "cut: [c1-n2, c2-n1]"},
		{"no node can be in every minority", "flush: [n1, n2]\n  - flush: [n2, n3]\n  - flush: [n3, n4]\n  - flush: [n4, n5]\n  - flush: [n5, n1]", ""},
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
	s, err := Parse("drawn.yaml", []byte(strings.NewReplacer("NODES", string(rune('0'+nodes)), "STEP", step).Replace(text)))
	require.NoError(t, err)
	return s
}
