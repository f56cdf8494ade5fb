package nemesis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/locks"
)

// onReplicas runs a test on clusters whose n1 has a replica: a virtual one and, where there
// is a redis-server, a local one.
func onReplicas(t *testing.T, test func(t *testing.T, r *rig)) {
	replicas := map[string]string{"r1": "n1"}
	t.Run("virtual", func(t *testing.T) {
		require.NoError(t, bubble.Run(func() {
			r := &rig{}
			cfg := r.config()
			cfg.Replicas = replicas
			c, err := virtual.New(cfg)
			require.NoError(t, err)
			r.run(t, c, test)
		}))
	})
	t.Run("local", func(t *testing.T) {
		onLocalWith(t, func(cfg *cluster.Config) { cfg.Replicas = replicas }, locks.Options{}, test)
	})
}

func TestPromote_RecordsRoleAndOffset(t *testing.T) {
	onReplicas(t, func(t *testing.T, r *rig) {
		cut := r.apply(t, Fault{Kind: Cut, Targets: []string{"r1-n1"}, Direction: cluster.Both})
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Promote, Targets: []string{"r1"}})
		f := r.last(t)
		require.True(t, f.Effective)
		require.Equal(t, "replica", f.Measured["role before"])
		require.Equal(t, "master", f.Measured["role"])
		require.Equal(t, f.Measured["offset before"], f.Measured["offset"], "it goes on from what it had")
		require.NoError(t, r.nemesis.End(context.Background(), cut[0]))
		f = r.last(t)
		require.True(t, f.Effective)
		require.Equal(t, "0", f.Measured["messages passed"])
	})
}

func TestPromote_Refuses(t *testing.T) {
	onReplicas(t, func(t *testing.T, r *rig) {
		for target, want := range map[string]string{
			"n1": "promote n1: promote n1: it is a master already", "n2": "promote n2: INFO shows no replication: it is down, or not a replica",
			"r9": "unknown client or node r9",
		} {
			_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Promote, Targets: []string{target}})
			require.ErrorContains(t, err, want)
		}
		r.apply(t, Fault{Kind: Kill, Targets: []string{"r1"}})
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Promote, Targets: []string{"r1"}})
		require.ErrorContains(t, err, "promote r1: INFO shows no replication: it is down, or not a replica")
	})
}
