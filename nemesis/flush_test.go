package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestFlush_RemovesEveryKey(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
		r.sleep(100 * time.Millisecond) // a majority was enough; now all have both
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		f := r.last(t)
		require.True(t, f.Effective)
		require.Equal(t, map[string]string{"keys before": "2", "keys left": "0"}, f.Measured)
		for node, keys := range map[string]int{"n1": 2, "n2": 0} {
			seen, err := r.cluster.Node(node).Look(context.Background())
			require.NoError(t, err)
			require.Len(t, seen.Keys, keys, node)
		}
	})
}
