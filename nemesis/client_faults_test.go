package nemesis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
)

func TestPause_MeasuresDuration(t *testing.T) {
	for _, target := range []string{"n2", "c1", "c2"} { // c2 has nothing to do
		t.Run(target, func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				const long = 300 * time.Millisecond
				r.clients.do(t, "c1", loop)
				r.sleep(100 * time.Millisecond)
				began := r.cluster.Now()
				r.apply(t, Fault{Kind: Pause, Targets: []string{target}})
				require.Equal(t, history.PhaseBegin, r.last(t).Phase)
				require.True(t, r.last(t).Effective)
				require.Equal(t, "stopped", r.last(t).Measured["state"])
				r.sleep(long)
				r.apply(t, Fault{Kind: Resume, Targets: []string{target}})
				end := r.last(t)
				require.Equal(t, history.PhaseEnd, end.Phase)
				require.Equal(t, r.faults()[0].ID, end.ID)
				require.True(t, end.Effective)
				require.GreaterOrEqual(t, duration(t, end.Measured, "stopped for"), long)
				require.LessOrEqual(t, duration(t, end.Measured, "stopped for"), time.Duration(r.cluster.Now()-began))

				word := r.clients.LastEventTime("c1")
				r.sleep(200 * time.Millisecond)
				require.Greater(t, r.clients.LastEventTime("c1"), word, "c1 goes on")
			})
		})
	}
}

// A client stands still that has said nothing since it was paused; what it said at that moment was on its way.
func TestPauseClient_SilentClientIsStopped(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		s, err := r.nemesis.pauseControl("c1")
		require.NoError(t, err)
		r.clients.said["c1"] = 100
		for since, still := range map[int64]bool{99: false, 100: true} {
			is, err := s.isStopped(ctx, since)
			require.NoError(t, err)
			require.Equal(t, still, is, since)
		}
	})
}

func TestKillClient_NoFurtherEvents(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.hold(t, "k0") // connects
		r.clients.do(t, "c1", loop)
		r.sleep(200 * time.Millisecond)
		require.NotEmpty(t, r.outcomes("c1", history.OpAcquire))
		r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		r.apply(t, Fault{Kind: Kill, Targets: []string{"c1"}})
		require.True(t, r.last(t).Effective)
		require.Equal(t, "kill", r.faults()[1].Measured["ended by"], "no client is left to be fed")
		word := r.clients.LastEventTime("c1")
		r.sleep(200 * time.Millisecond)
		require.Equal(t, word, r.clients.LastEventTime("c1"))
	})
}

func TestStarve_MeasuresLateRenewal(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		require.Equal(t, history.TypeOK, r.acquire(t, "c1", "k1", time.Second).Type)
		<-r.clients.do(t, "c1", client.Command{Do: client.DoWatch})
		begun := r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		require.Equal(t, history.ClientStarved, r.last(t).Class)
		r.sleep(ttl / 2)
		require.Empty(t, r.outcomes("c1", history.OpExtend), "a third of the TTL is over")
		require.Equal(t, history.TypeOK, r.acquire(t, "c1", "k2", time.Second).Type, "the work goes on")

		end := r.end(t, begun)
		require.True(t, end.Effective)
		require.Equal(t, 1, *end.Affected, end)
		require.InDelta(t, ttl/2-ttl/3, duration(t, end.Measured, "late by"), float64(100*time.Millisecond))
		r.sleep(200 * time.Millisecond)
		require.Len(t, r.outcomes("c1", history.OpExtend), 1, "it comes late")
	})
}

func TestStarve_NothingLate_AffectsNothing(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		begun := r.apply(t, Fault{Kind: Starve, Targets: []string{"c1"}})
		r.sleep(20 * time.Millisecond)
		end := r.end(t, begun)
		require.True(t, end.Effective)
		require.Zero(t, *end.Affected)
		require.Equal(t, "the timers of c1 run again; none was late", EndText(*end))
	})
}
