package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// TestDemote_RefusesWritesAndKeepsKeys: a majority of such nodes keeps everybody out, and forgets nothing.
func TestDemote_RefusesWritesAndKeepsKeys(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.acquire(t, "c2", "k2", time.Second).Type)
		r.sleep(100 * time.Millisecond) // a majority was enough; now all have it
		begun := r.apply(t, Fault{Kind: Demote, Targets: []string{"n1", "n2"}})
		require.True(t, r.last(t).Effective)
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Demote, Targets: []string{"n1"}})
		require.ErrorContains(t, err, "already in effect")
		refused := r.acquire(t, "c1", "k1", 200*time.Millisecond)
		require.Equal(t, history.TypeFail, refused.Type, "one node is no majority")
		require.Contains(t, refused.Error, "READONLY")
		seen, err := r.cluster.Node("n1").Look(context.Background())
		require.NoError(t, err)
		require.Contains(t, seen.Keys, "k2")
		for _, a := range begun {
			require.NoError(t, r.nemesis.End(context.Background(), a))
			require.True(t, r.last(t).Effective)
			require.Positive(t, *r.last(t).Affected, "messages that were sent meanwhile")
		}
		require.Equal(t, history.TypeOK, r.acquire(t, "c1", "k1", 5*time.Second).Type)
	})
}

// TestDemote_RestartEndsIt: its settings have made the node a master all along.
func TestDemote_RestartEndsIt(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Demote, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
		require.Empty(t, r.nemesis.activeOn("n1", Demote))
		reply, err := r.cluster.Node("n1").Command(context.Background(), writeProbe)
		require.NoError(t, err)
		require.False(t, refusesWrites(reply), reply)
	})
}
