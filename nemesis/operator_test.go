package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestDeleteKey_RemovesOneKeyOfOneNode(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
		r.sleep(100 * time.Millisecond) // a majority was enough; now all have both
		r.apply(t, Fault{Kind: DeleteKey, Targets: []string{"n2"}, Key: "k2"})
		f := r.last(t)
		require.True(t, f.Effective)
		require.Equal(t, 1, *f.Affected)
		for node, keys := range map[string]int{"n1": 2, "n2": 1} {
			seen, err := r.cluster.Node(node).Look(context.Background())
			require.NoError(t, err)
			require.Len(t, seen.Keys, keys, node)
		}
		r.apply(t, Fault{Kind: DeleteKey, Targets: []string{"n2"}, Key: "k2"})
		require.False(t, r.last(t).Effective, "there was nothing left to delete")
	})
}

func TestScriptFlush_IsEffectiveOnEachNodeAndAgain(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		for _, node := range []string{"n1", "n2", "n1"} {
			r.apply(t, Fault{Kind: ScriptFlush, Targets: []string{node}})
			f := r.last(t)
			require.True(t, f.Effective, f.Measured)
			require.Contains(t, f.Measured["after"], "NOSCRIPT")
		}
	})
}
