package docker

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

func TestWhatANodeRemembers(t *testing.T) {
	kill, shutdown := cluster.Node.Kill, cluster.Node.Shutdown
	for _, c := range []struct {
		persistence cluster.Persistence
		down        string
		by          func(cluster.Node, context.Context) error
		remembers   bool
	}{
		{cluster.PersistNone, "kill", kill, false},
		{cluster.PersistRDB, "kill", kill, false},
		{cluster.PersistRDB, "shutdown", shutdown, true},
		{cluster.PersistNone, "shutdown", shutdown, false},
		{cluster.PersistNo, "kill", kill, true},
		{cluster.PersistEverysec, "kill", kill, true},
		{cluster.PersistAlways, "kill", kill, true},
		{cluster.PersistAlways, "shutdown", shutdown, true},
	} {
		t.Run(string(c.persistence)+" "+c.down, func(t *testing.T) {
			l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = c.persistence })
			n := l.Node("n1")
			fresh, err := n.Look(t.Context())
			require.NoError(t, err)
			require.True(t, fresh.Up)
			require.Empty(t, fresh.Keys, "the run before has left something")

			require.NoError(t, over(t, l, "c1", "n1").Set(t.Context(), "k1", "token", time.Minute).Err())
			before, err := n.Look(t.Context())
			require.NoError(t, err)
			require.Equal(t, "token", before.Keys["k1"].Token)

			require.NoError(t, c.by(n, t.Context()))
			down, err := n.Look(t.Context())
			require.NoError(t, err)
			require.Equal(t, history.Node{}, down)

			require.NoError(t, n.Start(t.Context()))
			after, err := n.Look(t.Context())
			require.NoError(t, err)
			require.True(t, after.Up)
			require.NotEqual(t, before.RunID, after.RunID)
			if c.remembers {
				require.Equal(t, "token", after.Keys["k1"].Token)
			} else {
				require.Empty(t, after.Keys)
			}
			require.NoError(t, over(t, l, "c2", "n1").Set(within(t, time.Second), "k2", "again", time.Minute).Err(),
				"the links lead to the new server")
		})
	}
}
