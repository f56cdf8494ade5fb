package docker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

// TestAFullDisk: the kernel itself has no room for a server's writes. With
// appendfsync always the server ends of it; with everysec it refuses writes until
// there is room again. A disk that is full stays so whatever becomes of the server.
func TestAFullDisk(t *testing.T) {
	for _, setting := range []cluster.Persistence{cluster.PersistAlways, cluster.PersistEverysec} {
		t.Run(string(setting), func(t *testing.T) {
			l := start(t, 2, func(cfg *cluster.Config) { cfg.Persistence, cfg.Fillable = setting, []string{"n1"} })
			n, db := l.nodes["n1"], over(t, l, "c1", "n1")
			require.ErrorContains(t, l.nodes["n2"].FillDisk(true), "the disk of n2 is not a small one")
			write := func() error { return db.Set(within(t, 2*time.Second), "k1", "token", time.Minute).Err() }
			require.NoError(t, write())
			require.NoError(t, n.FillDisk(true))
			// The last block of its file has some room yet.
			require.Eventually(t, func() bool { return write() != nil }, 20*time.Second, time.Millisecond)
			done, err := n.Disturbed()
			require.NoError(t, err)
			require.Positive(t, done.Full)

			if setting == cluster.PersistAlways {
				require.Eventually(t, func() bool { look, err := n.Look(t.Context()); return err == nil && !look.Up },
					30*time.Second, 10*time.Millisecond)
			} else {
				require.ErrorContains(t, write(), "MISCONF")
				require.NoError(t, n.Kill(t.Context()))
			}
			require.NoError(t, n.FillDisk(false))
			require.NoError(t, n.Start(t.Context()))
			require.NoError(t, write())
		})
	}
}
