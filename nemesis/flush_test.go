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

func TestFlush_KeysRemain_NotEffective(t *testing.T) {
	withSloppy(t, 0, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
		r.sleep(100 * time.Millisecond)
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		f := r.last(t)
		require.False(t, f.Effective)
		require.Equal(t, map[string]string{"keys before": "2", "keys left": "2"}, f.Measured)
		require.Zero(t, *f.Affected)
	})
	onVirtual(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		r.sleep(100 * time.Millisecond)
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		require.Equal(t, 1, *r.last(t).Affected)
	})
}
