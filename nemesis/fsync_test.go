package nemesis

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// onDisks runs a test where fsyncs can be disturbed.
func onDisks(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	onLocal(t, func(t *testing.T, r *rig) {
		needShim(t, r, string(SlowFsync))
		test(t, r)
	})
}

func TestFsyncFaults_TakeEffectAndEnd(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		asked map[string]string
	}{
		{Fault{Kind: SlowFsync, Delay: 300 * time.Millisecond}, map[string]string{"by": "300ms"}},
		{Fault{Kind: FailFsync}, map[string]string{"error": "EIO"}},
	} {
		t.Run(string(c.fault.Kind), func(t *testing.T) {
			onDisks(t, func(t *testing.T, r *rig) {
				c.fault.Targets = []string{"n2"}
				begun := r.apply(t, c.fault)
				require.Len(t, begun, 1)
				f := r.last(t)
				require.Equal(t, history.PhaseBegin, f.Phase)
				require.Equal(t, c.asked, f.Requested)
				_, err := r.nemesis.Apply(context.Background(), c.fault)
				require.ErrorContains(t, err, "n2: already in effect")

				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
				r.sleep(100 * time.Millisecond)                            // a majority was enough; now all have it
				r.apply(t, Fault{Kind: Shutdown, Targets: []string{"n2"}}) // which syncs
				require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
				f = r.last(t)
				require.Equal(t, history.PhaseEnd, f.Phase)
				require.True(t, f.Effective)
				befell, err := strconv.Atoi(f.Measured["fsyncs"])
				require.NoError(t, err)
				require.Positive(t, befell)

				r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
				r.apply(t, Fault{Kind: Shutdown, Targets: []string{"n2"}})
				after, err := r.cluster.Node("n2").(cluster.Server).Disturb(nil)
				require.NoError(t, err)
				require.Equal(t, befell, after.Delayed+after.Failed, "fsyncs are as before")
			})
		})
	}
}

// A disk on which nothing was synced meanwhile shows nothing.
func TestFsyncFaults_NoFsyncs_NotEffective(t *testing.T) {
	onDisks(t, func(t *testing.T, r *rig) {
		begun := r.apply(t, Fault{Kind: SlowFsync, Targets: []string{"n2"}, Delay: time.Second})
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
		require.Equal(t, "0", r.last(t).Measured["fsyncs"])
	})
}

func TestFsyncFaults_VirtualCluster_Unsupported(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		_, err := r.nemesis.Apply(context.Background(), Fault{Kind: SlowFsync, Targets: []string{"n2"}, Delay: time.Second})
		require.EqualError(t, err, "slow-fsync n2: the virtual cluster has no real servers")
		require.Error(t, r.can(string(SlowFsync)))
		require.Error(t, r.can(string(FailFsync)))
	})
}
