package nemesis

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/history"
)

// loop keeps a client busy.
var loop = client.Command{Do: client.DoLoop, Loop: &client.Loop{
	Keys: []string{"k1"}, Hold: 5 * time.Millisecond, Think: 5 * time.Millisecond}}

func TestPause_MeasuresDuration(t *testing.T) {
	for _, target := range []string{"n2", "c1", "c2"} { // c2 has nothing to do
		t.Run(target, func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				const long = 300 * time.Millisecond
				r.clients.do(t, "c1", loop)
				r.sleep(100 * time.Millisecond)
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
				require.InDelta(t, long, duration(t, end.Measured, "stopped for"), float64(20*time.Millisecond))

				word := r.clients.LastEventTime("c1")
				r.sleep(200 * time.Millisecond)
				require.Greater(t, r.clients.LastEventTime("c1"), word, "c1 goes on")
			})
		})
	}
}

func TestPause_NodeDoesNotAnswer(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Pause, Targets: []string{"n1", "n2"}})
		<-r.clients.do(t, "c1", client.Command{Do: client.DoAcquire, Key: "k1", Within: 200 * time.Millisecond})
		require.Equal(t, history.TypeFail, r.outcomes("c1", history.OpAcquire)[0].Type, "one node is no majority")
		require.NoError(t, r.nemesis.EndAll(context.Background()))
		all := r.faults()
		require.Equal(t, []string{"n2"}, all[2].Targets, "the last first")
		require.Equal(t, []string{"n1"}, all[3].Targets)
		r.sleep(100 * time.Millisecond)
		<-r.clients.do(t, "c2", client.Command{Do: client.DoAcquire, Key: "k2", Within: time.Second})
		require.Equal(t, history.TypeOK, r.outcomes("c2", history.OpAcquire)[0].Type)
	})
}

// A client stands still that has said nothing since it was paused; what it said at that moment was on its way.
func TestPauseClient_SilentClientIsStopped(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		s, err := r.nemesis.pauseControl("c1")
		require.NoError(t, err)
		r.clients.said["c1"] = 100
		for since, still := range map[int64]bool{99: false, 100: true, 101: true} {
			is, err := s.isStopped(context.Background(), since)
			require.NoError(t, err)
			require.Equal(t, still, is, since)
		}
	})
}
