package nemesis

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
)

// attempt lets a client try for a lock, and gives what came of it.
func (r *rig) attempt(t *testing.T, name, key string, within time.Duration) history.Event {
	t.Helper()
	<-r.clients.do(t, name, client.Command{Do: client.DoAcquire, Key: key, Within: within})
	all := r.outcomes(name, history.OpAcquire)
	return all[len(all)-1]
}

func TestCut_NothingPasses(t *testing.T) {
	for _, direction := range []cluster.Direction{cluster.Both, cluster.ToNode, cluster.ToClient, ""} {
		t.Run(string(direction), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type) // connects
				r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n1", "c1-n2"}, Direction: direction})
				require.Equal(t, history.TypeFail, r.attempt(t, "c1", "k2", 200*time.Millisecond).Type)
				require.Equal(t, history.TypeOK, r.attempt(t, "c2", "k3", time.Second).Type, "another client is not cut off")
				r.apply(t, Fault{Kind: Heal, Targets: []string{"c1-n1", "c1-n2"}})
				for _, end := range r.faults()[2:] {
					require.Equal(t, history.PhaseEnd, end.Phase)
					require.Equal(t, "0", end.Measured["messages passed"])
					require.True(t, end.Effective)
				}
				r.sleep(100 * time.Millisecond)
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k4", time.Second).Type, "it is healed")
			})
		})
	}
}

func TestCut_StoreLink(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-store"}})
		require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type)
		<-r.clients.do(t, "c1", client.Command{Do: client.DoRead, Key: "k1", Within: 200 * time.Millisecond})
		require.NotEqual(t, history.TypeOK, r.outcomes("c1", history.OpRead)[0].Type)
	})
}

func TestDelay_AtLeastRequested(t *testing.T) {
	for _, by := range []time.Duration{3 * time.Millisecond, 25 * time.Millisecond, 2500 * time.Microsecond} {
		t.Run(by.String(), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				links := []string{"c1-n1", "c1-n2", "c1-n3"}
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k1", time.Second).Type) // connects
				r.apply(t, Fault{Kind: Delay, Targets: links, Delay: by})
				began := r.cluster.Now()
				require.Equal(t, history.TypeOK, r.attempt(t, "c1", "k2", time.Second).Type)
				require.GreaterOrEqual(t, time.Duration(r.cluster.Now()-began), 2*by-2*time.Millisecond, "there and back")
				r.sleep(100 * time.Millisecond)
				r.apply(t, Fault{Kind: Heal, Targets: links})
				for _, end := range r.faults()[3:] {
					require.True(t, end.Effective)
					require.GreaterOrEqual(t, duration(t, end.Measured, "shortest"), by-delaySlack)
					require.Less(t, duration(t, end.Measured, "shortest"), by+20*time.Millisecond)
					messages, err := strconv.Atoi(end.Measured["messages"])
					require.NoError(t, err)
					require.GreaterOrEqual(t, messages, 2)
				}
			})
		})
	}
}

// Far nodes are a delay of the scenario's setting; another may come on top.
func TestDelay_OverlappingDelaysAddUp(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		links := []string{"c1-n1", "c1-n2", "c1-n3"}
		latency := func(key string) time.Duration {
			began := r.cluster.Now()
			require.Equal(t, history.TypeOK, r.attempt(t, "c1", key, time.Second).Type)
			took := time.Duration(r.cluster.Now() - began)
			r.sleep(300 * time.Millisecond)
			return took
		}
		near := latency("k0")
		r.apply(t, Fault{Kind: Delay, Targets: links, Delay: 10 * time.Millisecond, Background: true})
		far := latency("k1")
		require.Greater(t, far, near+18*time.Millisecond)
		more := r.apply(t, Fault{Kind: Delay, Targets: links, Delay: 20 * time.Millisecond, Direction: cluster.ToNode})
		require.InDelta(t, far+20*time.Millisecond, latency("k2"), float64(2*time.Millisecond))
		for _, a := range more {
			require.NoError(t, r.nemesis.End(context.Background(), a))
			require.True(t, r.last(t).Effective)
		}
		require.InDelta(t, far, latency("k3"), float64(2*time.Millisecond), "the setting is still there")
		require.NoError(t, r.nemesis.EndAll(context.Background()))
		for _, f := range r.faults() {
			require.True(t, f.Effective)
		}
		require.Less(t, latency("k4"), far)
	})
}

func TestEnd_Idempotent(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		begun := r.apply(t, Fault{Kind: Cut, Targets: []string{"c1-n1"}})
		require.NoError(t, r.nemesis.End(ctx, begun[0]))
		require.NoError(t, r.nemesis.End(ctx, begun[0]))
		require.Len(t, r.faults(), 2)
	})
}

// A server that is listed twice is one server: what befalls it under one name
// befalls it under both.
func TestAlias_IsItsServer(t *testing.T) {
	require.NoError(t, bubble.Run(func() {
		r := &rig{}
		cfg := r.config()
		cfg.Aliases = map[string]string{"n2": "n1"}
		c, err := virtual.New(cfg)
		require.NoError(t, err)
		r.run(t, c, func(t *testing.T, r *rig) {
			r.apply(t, Fault{Kind: Kill, Targets: []string{"n2"}})
			_, err := r.nemesis.Apply(context.Background(), Fault{Kind: Kill, Targets: []string{"n1"}})
			require.EqualError(t, err, "kill n1: already down")
			r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
			require.True(t, r.last(t).Effective)
		})
	}))
}
