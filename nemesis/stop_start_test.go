package nemesis

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func TestStopAndStart_RecordRunIDAndKeys(t *testing.T) {
	for _, kind := range []Kind{Kill, Shutdown, PowerLoss} {
		t.Run(string(kind), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				if kind == PowerLoss {
					needShim(t, r, cluster.AbilityPowerLoss)
				}
				ctx := context.Background()
				<-r.clients.do(t, "c1", client.Command{Do: client.DoAcquire, Key: "k1", Within: time.Second})
				r.sleep(100 * time.Millisecond) // a majority was enough; now all have it
				before, err := r.cluster.Node("n2").Look(ctx)
				require.NoError(t, err)
				require.Len(t, before.Keys, 1)

				r.apply(t, Fault{Kind: kind, Targets: []string{"n2"}})
				down := r.last(t)
				require.Equal(t, history.PhaseInstant, down.Phase)
				require.Equal(t, []string{"n2"}, down.Targets)
				require.True(t, down.Effective)
				require.Equal(t, "down", down.Measured["state"])
				if kind == PowerLoss {
					require.NotEqual(t, "0 bytes", down.Measured["lost"], "what had not been synced")
				}
				seen, err := r.cluster.Node("n2").Look(ctx)
				require.NoError(t, err)
				require.False(t, seen.Up)

				r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
				up := r.last(t)
				require.True(t, up.Effective)
				require.Equal(t, "up", up.Measured["state"])
				require.NotEqual(t, before.RunID, up.Measured["run id"])
				keys := "1"
				if kind == PowerLoss {
					keys = "0"
				}
				require.Equal(t, keys, up.Measured["keys"])
			})
		})
	}
}

// slowly is a cluster that takes its time to kill or stop a node, and to tell.
type slowly struct {
	cluster.Cluster
	takes time.Duration
}

func (s *slowly) Node(name string) cluster.Node { return &slowNode{s.Cluster.Node(name), s} }

type slowNode struct {
	cluster.Node
	cluster *slowly
}

func (n *slowNode) Kill(ctx context.Context) error {
	return errors.Join(n.Node.Kill(ctx), n.cluster.Sleep(ctx, n.cluster.takes))
}

func (n *slowNode) Pause(ctx context.Context) error {
	return errors.Join(n.Node.Pause(ctx), n.cluster.Sleep(ctx, n.cluster.takes))
}

// When it was asked for is the earliest that it can have been in effect.
func TestFault_SlowToApply_RecordsSince(t *testing.T) {
	for _, test := range []struct {
		kind  Kind
		takes time.Duration
		since int64
	}{{Kill, 300 * time.Millisecond, 1e9}, {Pause, 300 * time.Millisecond, 1e9}, {Kill, 0, 0}, {Pause, 0, 0}} {
		t.Run(fmt.Sprintf("%s in %s", test.kind, test.takes), func(t *testing.T) {
			onVirtual(t, func(t *testing.T, r *rig) {
				r.nemesis = New(&slowly{r.cluster, test.takes}, r.clients, []string{"c1", "c2"}, r.record)
				r.sleep(time.Second - time.Duration(r.cluster.Now()))
				begun := r.apply(t, Fault{Kind: test.kind, Targets: []string{"n2"}})
				require.Equal(t, test.since, r.last(t).Since)
				for _, a := range begun {
					require.NoError(t, r.nemesis.End(context.Background(), a))
					require.Zero(t, r.last(t).Since, "an end is when it was seen to end")
				}
			})
		})
	}
}

func TestKillClient_NoFurtherEvents(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.clients.do(t, "c1", client.Command{Do: client.DoLoop, Loop: &client.Loop{
			Keys: []string{"k1"}, Hold: 5 * time.Millisecond, Think: 5 * time.Millisecond}})
		r.sleep(200 * time.Millisecond)
		require.NotEmpty(t, r.outcomes("c1", history.OpAcquire))
		r.apply(t, Fault{Kind: Kill, Targets: []string{"c1"}})
		require.True(t, r.last(t).Effective)
		word := r.clients.LastEventTime("c1")
		r.sleep(200 * time.Millisecond)
		require.Equal(t, word, r.clients.LastEventTime("c1"))
	})
}

// A stopped process obeys SIGKILL; its pause is over then.
func TestKill_PausedNode(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Pause, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		all := r.faults()
		require.Len(t, all, 3)
		require.Equal(t, history.PhaseEnd, all[1].Phase)
		require.Equal(t, "kill", all[1].Measured["ended by"])
		require.True(t, all[2].Effective)
		require.Empty(t, r.nemesis.activeWhere(func(*Active) bool { return true }))
		r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
		require.True(t, r.last(t).Effective)
	})
}

func TestApply_RefusesInvalidFaults(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n3"}})
		r.apply(t, Fault{Kind: Pause, Targets: []string{"n2", "c2"}})
		before := len(r.faults())
		for _, c := range []struct {
			fault Fault
			want  string
		}{
			{Fault{Kind: Kill, Targets: []string{"n3"}}, "kill n3: already down"},
			{Fault{Kind: Shutdown, Targets: []string{"n3"}}, "shutdown n3: already down"},
			{Fault{Kind: Start, Targets: []string{"n1"}}, "start n1: already up"},
			{Fault{Kind: Start, Targets: []string{"n2"}}, "start n2: already up"},
			{Fault{Kind: Pause, Targets: []string{"n2"}}, "pause n2: already in effect"},
			{Fault{Kind: Pause, Targets: []string{"c2"}}, "pause c2: already in effect"},
			{Fault{Kind: Pause, Targets: []string{"n3"}}, "the node is down"},
			{Fault{Kind: Flush, Targets: []string{"n3"}}, "the node is down"},
			{Fault{Kind: Shutdown, Targets: []string{"n2"}}, "paused"},
			{Fault{Kind: Shutdown, Targets: []string{"c1"}}, "shutdown c1: invalid target: want nodes"},
			{Fault{Kind: Resume, Targets: []string{"n1"}}, "resume n1: no pause is in effect"},
			{Fault{Kind: Resume, Targets: []string{"c1"}}, "resume c1: no pause is in effect"},
			{Fault{Kind: Heal, Targets: []string{"c1-n1"}}, "heal c1-n1: no cut is in effect"},
			{Fault{Kind: LetGo, Targets: []string{"c1-n1"}}, "let-go c1-n1: no hold is in effect"},
			{Fault{Kind: Cut, Targets: []string{"c1"}}, "cut c1: invalid target: want links"},
			{Fault{Kind: Cut, Targets: []string{"n1-n2"}}, `cut n1-n2: unknown link from "n1" to "n2"`},
			{Fault{Kind: Cut, Targets: []string{"c1-n9"}}, `cut c1-n9: unknown link from "c1" to "n9"`},
			{Fault{Kind: Delay, Targets: []string{"c1-n9"}, Delay: time.Second}, `unknown link from "c1" to "n9"`},
			{Fault{Kind: Hold, Targets: []string{"c9-n1"}, Command: "SET"}, `unknown link from "c9" to "n1"`},
			{Fault{Kind: Hold, Targets: []string{"c1-n1"}}, "an intercept needs the name of a command"},
			{Fault{Kind: Kill, Targets: []string{"n9"}}, "kill n9: unknown client or node n9"},
			{Fault{Kind: Pause, Targets: []string{"n9"}}, "pause n9: unknown client or node n9"},
			{Fault{Kind: Clock, Targets: []string{"n9"}, Jump: time.Second}, "clock n9: unknown client or node n9"},
			{Fault{Kind: Flush, Targets: []string{"n9"}}, "flush n9: unknown client or node n9"},
			{Fault{Kind: "melt", Targets: []string{"n1"}}, "melt n1: unknown fault"},
		} {
			begun, err := r.nemesis.Apply(context.Background(), c.fault)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, begun)
		}
		require.Len(t, r.faults(), before, "what was not done is not in the history")
	})
}

// A supervisor brings a node back that was killed or shut down, another server
// each time; the history tells both.
func TestSupervisor_RestartsNode(t *testing.T) {
	supervised := func(c *cluster.Config) { c.Supervised, c.Persistence = true, cluster.PersistNone }
	onLocalWith(t, supervised, locks.Options{}, func(t *testing.T, r *rig) {
		ctx := context.Background()
		for i, kind := range []Kind{Kill, Shutdown, Kill} {
			require.Equal(t, history.TypeOK, r.attempt(t, "c1", fmt.Sprintf("k%d", i+1), time.Second).Type)
			r.sleep(100 * time.Millisecond) // a majority was enough; now all have it
			before, err := r.cluster.Node("n2").Look(ctx)
			require.NoError(t, err)
			require.Len(t, before.Keys, 1)

			r.apply(t, Fault{Kind: kind, Targets: []string{"n2"}})
			all := r.faults()
			died, back := all[len(all)-2], all[len(all)-1]
			require.Equal(t, string(kind), died.Kind)
			require.True(t, died.Effective)
			require.Equal(t, string(Start), back.Kind)
			require.True(t, back.Effective)
			require.Equal(t, "its supervisor", back.Measured["by"])
			require.Equal(t, "up", back.Measured["state"])
			require.Equal(t, "0", back.Measured["keys"])
			require.NotEqual(t, before.RunID, back.Measured["run id"])
			require.Less(t, duration(t, back.Measured, "back after"), time.Second)
			_, err = r.nemesis.Apply(ctx, Fault{Kind: Start, Targets: []string{"n2"}})
			require.ErrorContains(t, err, "already up")
		}
	})
}

// A schedule leaves the restart to the supervisor; a machine without power has
// none.
func TestSchedule_SupervisedNodes(t *testing.T) {
	onLocalWith(t, func(c *cluster.Config) { c.Supervised = true }, locks.Options{}, func(t *testing.T, r *rig) {
		plan := []Planned{
			{Start: 10 * time.Millisecond, Duration: 50 * time.Millisecond, Fault: Fault{Kind: Kill, Targets: []string{"n1", "n2"}}},
			{Start: 20 * time.Millisecond, Duration: 50 * time.Millisecond, Fault: Fault{Kind: Shutdown, Targets: []string{"n3"}}},
		}
		if r.can(cluster.AbilityPowerLoss) == nil {
			plan = append(plan, Planned{Start: 200 * time.Millisecond, Duration: 300 * time.Millisecond,
				Fault: Fault{Kind: PowerLoss, Targets: []string{"n3"}}})
		}
		require.NoError(t, r.nemesis.Run(context.Background(), plan))
		all := r.faults()
		require.Len(t, all, 6+2*(len(plan)-2))
		for _, f := range all {
			require.True(t, f.Effective, "%+v", f)
		}
		require.NotContains(t, all[len(all)-1].Measured, "by", "the power came back, and the schedule started it")
		r.requireWell(t)
	})
}
