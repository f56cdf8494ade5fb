package docker

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// A promoted replica lacks what a cut kept from it.
func TestAPromotedReplicaLacksWhatACutKeptFromIt(t *testing.T) {
	c := start(t, 1, func(cfg *cluster.Config) { cfg.Replicas = map[string]string{"r1": "n1"} })
	n1, r1 := over(t, c, "c1", "n1"), over(t, c, "c1", "r1")
	require.NoError(t, n1.Set(t.Context(), "k1", "copied", time.Minute).Err())
	require.Equal(t, int64(1), n1.Wait(t.Context(), 1, time.Second).Val())
	require.NoError(t, c.Link("r1", "n1").Cut(cluster.Both))
	require.NoError(t, n1.Set(t.Context(), "k2", "kept away", time.Minute).Err())
	require.NoError(t, c.Node("n1").Kill(t.Context()))
	require.NoError(t, c.Node("r1").(cluster.Replica).Promote(t.Context()))
	seen, err := c.Node("r1").Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, history.RoleMaster, seen.Replication.Role)
	require.Equal(t, "copied", r1.Get(t.Context(), "k1").Val())
	require.ErrorIs(t, r1.Get(t.Context(), "k2").Err(), redis.Nil)
}

func TestMoreSentinelsThanThereAre(t *testing.T) {
	require.ErrorContains(t, Fits([]string{"n1", "r1"}, mostSentinels+1), "cannot do a run with 4 Sentinels: it has 3")
	require.NoError(t, Fits([]string{"n1", "r1"}, mostSentinels))
}
