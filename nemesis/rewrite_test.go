package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

func TestRewrite_LastsAsRequested(t *testing.T) {
	onLocal(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		begun := r.apply(t, Fault{Kind: Rewrite, Targets: []string{"n2"}, Duration: 300 * time.Millisecond})
		f := r.last(t)
		require.Equal(t, history.PhaseBegin, f.Phase)
		require.True(t, f.Effective)
		require.Equal(t, "300ms", f.Requested["lasts"])
		require.Equal(t, "1", f.Measured["aof_rewrite_in_progress"])
		_, err := r.nemesis.Apply(ctx, Fault{Kind: Rewrite, Targets: []string{"n2"}, Duration: time.Second})
		require.ErrorContains(t, err, "rewrite n2: already in effect")

		n2 := r.cluster.Node("n2").(cluster.Server)
		r.sleep(150 * time.Millisecond)
		going, err := rewriteInProgress(ctx, n2)
		require.NoError(t, err)
		require.True(t, going)
		require.Eventually(t, func() bool { going, err := rewriteInProgress(ctx, n2); return err == nil && !going },
			10*time.Second, 10*time.Millisecond)
		require.NoError(t, r.nemesis.End(ctx, begun[0]))
		require.Equal(t, "0", r.last(t).Measured["aof_rewrite_in_progress"])
		require.GreaterOrEqual(t, duration(t, r.last(t).Measured, "lasted"), 300*time.Millisecond)
	})
}

// A rewrite ends with its server.
func TestRewrite_KillEndsIt(t *testing.T) {
	onLocal(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Rewrite, Targets: []string{"n2"}, Duration: time.Minute})
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n2"}})
		all := r.faults()
		require.Len(t, all, 3)
		require.Equal(t, history.PhaseEnd, all[1].Phase)
		require.Equal(t, "kill", all[1].Measured["ended by"])
		require.Contains(t, all[1].Measured, "lasted")
		require.Empty(t, r.nemesis.activeWhere(func(*Active) bool { return true }))
	})
}
