package nemesis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// onRedisCluster runs a test on a Redis Cluster in which n3 has k1.
func onRedisCluster(t *testing.T, test func(t *testing.T, r *rig)) {
	onLocalWith(t, func(cfg *cluster.Config) { cfg.RedisCluster = true }, locks.Options{}, func(t *testing.T, r *rig) {
		reply, err := r.cluster.Node("n3").Command(context.Background(), "SET k1 held PX 60000")
		require.NoError(t, err)
		require.Equal(t, "+OK", reply)
		test(t, r)
	})
}

// keyOn is what a client is given for k1 that is sent to a node.
func (r *rig) keyOn(t *testing.T, node string) string {
	t.Helper()
	seen, err := r.cluster.Node(node).Look(context.Background())
	require.NoError(t, err)
	return seen.Keys["k1"].Token
}

func TestMigrateSlot_OnceItIsOver_OneMasterOrNoneHasTheKey(t *testing.T) {
	for mistake, want := range map[string]struct{ open, over [2]string }{ // what n3 and n1 have
		"":                {[2]string{"", "held"}, [2]string{"", "held"}},
		slotAssignedEarly: {[2]string{"held", ""}, [2]string{"", ""}},
		slotCancelled:     {[2]string{"", "held"}, [2]string{"", ""}},
	} {
		t.Run("mistake "+mistake, func(t *testing.T) {
			onRedisCluster(t, func(t *testing.T, r *rig) {
				begun := r.apply(t, Fault{Kind: MigrateSlot, Targets: []string{"n3"}, Key: "k1", To: "n1", Mistake: mistake})
				f := r.last(t)
				require.True(t, f.Effective, "%+v", f)
				require.Equal(t, history.SlotMoves, f.Class)
				require.Equal(t, want.open, [2]string{r.keyOn(t, "n3"), r.keyOn(t, "n1")}, "while it is open")
				_, err := r.nemesis.Apply(context.Background(), Fault{Kind: MigrateSlot, Targets: []string{"n3"}, Key: "k1", To: "n1"})
				require.ErrorContains(t, err, "already in effect")
				require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
				f = r.last(t)
				require.True(t, f.Effective, "%+v", f)
				require.Equal(t, 1, *f.Affected)
				require.Positive(t, f.Since)
				require.Equal(t, want.over, [2]string{r.keyOn(t, "n3"), r.keyOn(t, "n1")}, "once it is over")
			})
		})
	}
}

func TestMigrateSlot_Refuses(t *testing.T) {
	onRedisCluster(t, func(t *testing.T, r *rig) {
		for target, want := range map[string]string{"n1": `the slot of k1 is "n3"'s, and n1 cannot give it away`,
			"n9": "unknown client or node n9"} {
			_, err := r.nemesis.Apply(context.Background(), Fault{Kind: MigrateSlot, Targets: []string{target}, Key: "k1", To: "n2"})
			require.ErrorContains(t, err, want)
		}
	})
	onVirtual(t, func(t *testing.T, r *rig) {
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: MigrateSlot, Targets: []string{"n3"}, Key: "k1", To: "n1"})
		require.ErrorContains(t, err, "needs real Redis servers, which the virtual cluster does not have")
	})
}

// unmovedCluster is a Redis Cluster that says OK, and moves no key.
type unmovedCluster struct{ cluster.Real }

func (unmovedCluster) MigrateKeys(context.Context, string, string, string) ([]string, error) {
	return nil, nil
}

func TestMigrateSlot_KeyStays_NotEffective(t *testing.T) {
	onRedisCluster(t, func(t *testing.T, r *rig) {
		unmoved := unmovedCluster{r.cluster.(cluster.Real)}
		r.nemesis = New(unmoved, r.clients, []string{"c1", "c2"}, r.record)
		begun := r.apply(t, Fault{Kind: MigrateSlot, Targets: []string{"n3"}, Key: "k1", To: "n1", Mistake: slotCancelled})
		require.False(t, r.last(t).Effective, "the key is where it was: nobody is sent away for it")
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective, "its old owner still has it")
	})
}
