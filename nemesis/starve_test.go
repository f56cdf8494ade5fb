package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
)

func TestStarve_MeasuresLateRenewal(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		<-r.clients.do(t, "c1", client.Command{Do: client.DoWatch})
		begun := r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		require.Equal(t, history.ClientStarved, r.last(t).Class)
		r.sleep(ttl / 2)
		require.Empty(t, r.outcomes("c1", history.OpExtend), "a third of the TTL is over")
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type, "the work goes on")

		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		end := r.last(t)
		require.True(t, end.Effective)
		require.Equal(t, 1, r.metBy(t), end)
		require.InDelta(t, ttl/2-ttl/3, duration(t, end.Measured, "late by"), float64(100*time.Millisecond))
		r.sleep(200 * time.Millisecond)
		require.Len(t, r.outcomes("c1", history.OpExtend), 1, "it comes late")
	})
}

func TestStarve_NothingLate_AffectsNothing(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		begun := r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		r.sleep(20 * time.Millisecond)
		require.NoError(t, r.nemesis.End(context.Background(), begun[0]))
		require.True(t, r.last(t).Effective)
		require.Zero(t, r.metBy(t))
		require.Equal(t, "the timers of c1 run again; none was late", EndText(*r.last(t)))
	})
}

// punctualClients are clients whose timers are never late.
type punctualClients struct{ ClientControl }

func (punctualClients) Starve(context.Context, string) error       { return nil }
func (punctualClients) Feed(context.Context, string) (Late, error) { return Late{Timers: 1}, nil }

func TestStarve_ProbeInTime_NotEffective(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		n := New(r.cluster, punctualClients{r.clients}, []string{"c1", "c2"}, r.record)
		begun, err := n.Apply(context.Background(), Fault{Kind: Starve, Targets: []string{"c1"}})
		require.NoError(t, err)
		r.sleep(time.Millisecond)
		require.NoError(t, n.End(context.Background(), begun[0]))
		require.False(t, r.last(t).Effective)
	})
}

func TestStarve_RefusesPausedAndStarved(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		r.apply(t, Fault{Kind: Pause, Targets: []string{"c2"}})
		for target, want := range map[string]string{
			"c1": "starve c1: already in effect", "c2": "starve c2: paused: it cannot be told",
		} {
			_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Starve, Targets: []string{target}})
			require.EqualError(t, err, want)
		}
		r.apply(t, Fault{Kind: Kill, Targets: []string{"c1"}})
		all := r.faults()
		require.Equal(t, "kill", all[len(all)-2].Measured["ended by"], "no client is left to be fed")
	})
}
