package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// With appendfsync always a server that cannot write ends; with everysec it
// refuses writes, and takes them again when there is room.
func TestFillDisk_ServerStopsOrReportsError(t *testing.T) {
	for setting, want := range map[cluster.Persistence][2]string{
		cluster.PersistAlways:   {"state", "down"},
		cluster.PersistEverysec: {"aof_last_write_status", "err"},
	} {
		t.Run(string(setting), func(t *testing.T) {
			onLocalWith(t, func(c *cluster.Config) { c.Persistence = setting }, locks.Options{}, func(t *testing.T, r *rig) {
				needDisk(t, r)
				ctx := context.Background()
				begun := r.apply(t, Fault{Kind: FillDisk, Targets: []string{"n2"}})
				require.Equal(t, map[string]string{"error": "ENOSPC"}, r.last(t).Requested)
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
				r.sleep(200 * time.Millisecond)
				require.NoError(t, r.nemesis.End(ctx, begun[0]))
				f := r.last(t)
				require.True(t, f.Effective)
				require.Equal(t, want[1], f.Measured[want[0]])
				require.Positive(t, measured(t, f, "refused writes"))

				if setting == cluster.PersistAlways {
					r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
					require.True(t, r.last(t).Effective)
				}
				n2 := r.cluster.Node("n2").(cluster.Server)
				require.Eventually(t, func() bool {
					info, err := n2.Info(ctx)
					return err == nil && info["aof_last_write_status"] == "ok"
				}, 10*time.Second, 50*time.Millisecond, "it tries again every second")
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
				r.sleep(100 * time.Millisecond)
				seen, err := n2.Look(ctx)
				require.NoError(t, err)
				require.Contains(t, seen.Keys, "k2")
			})
		})
	}
}

// A disk that nothing was written to meanwhile shows nothing.
func TestFillDisk_NoWrites_NotEffective(t *testing.T) {
	onLocal(t, func(t *testing.T, r *rig) {
		needDisk(t, r)
		begun := r.apply(t, Fault{Kind: FillDisk, Targets: []string{"n2"}})
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: FillDisk, Targets: []string{"n2"}})
		require.ErrorContains(t, err, "fill-disk n2: already in effect")
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
		require.Equal(t, "0", r.last(t).Measured["refused writes"])
	})
}

func needDisk(t *testing.T, r *rig) {
	t.Helper()
	needShim(t, r, cluster.AbilityDisk)
}
