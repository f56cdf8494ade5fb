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
)

func TestStopAndStart_RecordRunIDAndKeys(t *testing.T) {
	for kind, keys := range map[string]string{Kill: "1", Shutdown: "1", PowerLoss: "0"} {
		t.Run(string(kind), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				if kind == PowerLoss {
					needShim(t, r, cluster.AbilityPowerLoss)
				}
				r.hold(t, "k1")
				before := r.look(t, "n2")
				require.Len(t, before.Keys, 1)

				r.apply(t, Fault{Kind: kind, Targets: []string{"n2"}})
				down := r.last(t)
				require.Equal(t, history.PhaseInstant, down.Phase)
				require.Equal(t, []string{"n2"}, down.Targets)
				require.True(t, down.Effective)
				require.Equal(t, "down", down.Measured["state"])
				if kind == PowerLoss {
					require.NotEqual(t, "0 bytes", down.Measured["lost"], "unsynced data")
				}
				require.False(t, r.look(t, "n2").Up)

				r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
				up := r.last(t)
				require.True(t, up.Effective)
				require.Equal(t, "up", up.Measured["state"])
				require.NotEqual(t, before.RunID, up.Measured["run id"])
				require.Equal(t, keys, up.Measured["keys"])
			})
		})
	}
}

// slow is a node with slow kills and pauses.
type slow struct {
	cluster.Node
	sleep func() error
}

func (n slow) Kill(ctx context.Context) error  { return errors.Join(n.Node.Kill(ctx), n.sleep()) }
func (n slow) Pause(ctx context.Context) error { return errors.Join(n.Node.Pause(ctx), n.sleep()) }

// A fault may be in effect from its request on.
func TestFault_SlowToApply_RecordsSince(t *testing.T) {
	for _, kind := range []string{Kill, Pause} {
		for takes, since := range map[time.Duration]int64{300 * time.Millisecond: 1e9, 0: 0} {
			t.Run(fmt.Sprintf("%s in %s", kind, takes), func(t *testing.T) {
				onVirtual(t, func(t *testing.T, r *rig) {
					c := r.cluster
					r.use(altered{Cluster: c, node: func(n cluster.Node) cluster.Node {
						return slow{n, func() error { return c.Sleep(ctx, takes) }}
					}}, r.clients)
					r.sleep(time.Second - time.Duration(r.cluster.Now()))
					begun := r.apply(t, Fault{Kind: kind, Targets: []string{"n2"}})
					require.Equal(t, since, r.last(t).Since)
					if len(begun) > 0 {
						require.Zero(t, r.end(t, begun).Since, "an end is when it was seen to end")
					}
				})
			})
		}
	}
}

// A fault ends with its process, and does not affect the next process.
func TestFault_EndsWithItsProcess(t *testing.T) {
	for _, d := range Declarations() {
		kind := d.Kind
		if d.endsWithProcess == "" || d.Node == nil {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				if d.Node.Needs != nil && r.can(d.Node.Needs) != nil {
					return // TestKinds_CanDoTheirFaults has the kinds
				}
				r.sleep(100 * time.Millisecond)
				began := r.cluster.Now()
				r.apply(t, Fault{Kind: kind, Targets: []string{"n1"}, Duration: time.Minute})
				r.sleep(50 * time.Millisecond)
				r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
				all := r.faults()
				require.Len(t, all, 3)
				require.Equal(t, history.PhaseEnd, all[1].Phase)
				require.Equal(t, "kill", all[1].Measured["ended by"])
				lasted := duration(t, all[1].Measured, d.endsWithProcess)
				require.GreaterOrEqual(t, lasted, 50*time.Millisecond)
				require.LessOrEqual(t, lasted, time.Duration(r.cluster.Now()-began))
				require.True(t, all[2].Effective)
				r.apply(t, Fault{Kind: Start, Targets: []string{"n1"}})
				require.True(t, r.last(t).Effective)
				reply, err := r.cluster.Node("n1").Command(ctx, writeProbe)
				require.NoError(t, err)
				require.False(t, refusesWrites(reply), reply)
				r.requireWell(t)
			})
		})
	}
}

// While a majority of nodes refuses writes, no client acquires the lock, and no key is lost.
func TestMajorityRefusesWrites_AcquireFailsUntilItEnds(t *testing.T) {
	const lasts = time.Second // half of the TTL: time for an attempt before its end, and for a look at k2 after it
	for kind, reply := range map[string]string{Busy: "BUSY", Block: "", Demote: "READONLY", Pause: ""} {
		t.Run(string(kind), func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				r.hold(t, "k2") // its connections are open
				begun := r.apply(t, Fault{Kind: kind, Targets: []string{"n1", "n2"}, Duration: lasts})
				require.True(t, r.last(t).Effective)
				if kind == Busy || kind == Block {
					require.Equal(t, map[string]string{Busy: "BUSY", Block: "nothing"}[kind], r.last(t).Measured["answer"])
				}
				refused := r.acquire(t, "c1", "k1", lasts/10)
				require.Equal(t, history.TypeFail, refused.Type, "one node is no majority")
				require.Contains(t, refused.Error, reply)
				require.True(t, r.end(t, begun).Effective)
				require.Positive(t, *r.last(t).Affected, "messages that were sent meanwhile")
				require.Equal(t, history.TypeOK, r.acquire(t, "c1", "k1", 5*time.Second).Type)
				require.Contains(t, r.look(t, "n1").Keys, "k2")
			})
		})
	}
}

func TestFlush_RemovesEveryKey(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.hold(t, "k1", "k2")
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		f := r.last(t)
		require.True(t, f.Effective)
		require.Equal(t, 2, *f.Affected)
		require.Equal(t, map[string]string{"keys before": "2", "keys left": "0"}, f.Measured)
		require.Len(t, r.look(t, "n1").Keys, 2)
		require.Empty(t, r.look(t, "n2").Keys)
	})
}

func TestDeleteKey_RemovesOneKeyOfOneNode(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.hold(t, "k1", "k2")
		r.apply(t, Fault{Kind: DeleteKey, Targets: []string{"n2"}, Key: "k2"})
		require.True(t, r.last(t).Effective)
		require.Equal(t, 1, *r.last(t).Affected)
		require.Len(t, r.look(t, "n1").Keys, 2)
		require.Len(t, r.look(t, "n2").Keys, 1)
		r.apply(t, Fault{Kind: DeleteKey, Targets: []string{"n2"}, Key: "k2"})
		require.False(t, r.last(t).Effective, "there was nothing left to delete")
	})
}

func TestScriptFlush_IsEffectiveOnEachNodeAndAgain(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		for _, node := range []string{"n1", "n2", "n1"} {
			r.apply(t, Fault{Kind: ScriptFlush, Targets: []string{node}})
			require.True(t, r.last(t).Effective, r.last(t).Measured)
			require.Contains(t, r.last(t).Measured["after"], "NOSCRIPT")
		}
	})
}

var withReplica = setting{change: func(cfg *cluster.Config) { cfg.Replicas = map[string]string{"r1": "n1"} }}

func TestPromote_RecordsRoleAndOffset(t *testing.T) {
	withReplica.onClusters(t, func(t *testing.T, r *rig) {
		cut := r.apply(t, Fault{Kind: Cut, Targets: []string{"r1-n1"}})
		r.apply(t, Fault{Kind: Kill, Targets: []string{"n1"}})
		r.apply(t, Fault{Kind: Promote, Targets: []string{"r1"}})
		f := r.last(t)
		require.True(t, f.Effective)
		require.Equal(t, "replica", f.Measured["role before"])
		require.Equal(t, "master", f.Measured["role"])
		require.Equal(t, f.Measured["offset before"], f.Measured["offset"], "it goes on from what it had")
		end := r.end(t, cut)
		require.True(t, end.Effective)
		require.Equal(t, "0", end.Measured["messages passed"])
	})
}

func TestPromote_Refuses(t *testing.T) {
	withReplica.onClusters(t, func(t *testing.T, r *rig) {
		r.refused(t, Fault{Kind: Promote, Targets: []string{"n1"}}, "promote n1: promote n1: it is a master already")
		r.refused(t, Fault{Kind: Promote, Targets: []string{"r9"}}, "unknown client or node r9")
		const noReplica = ": INFO shows no replication: it is down, or not a replica"
		r.refused(t, Fault{Kind: Promote, Targets: []string{"n2"}}, "promote n2"+noReplica)
		r.apply(t, Fault{Kind: Kill, Targets: []string{"r1"}})
		r.refused(t, Fault{Kind: Promote, Targets: []string{"r1"}}, "promote r1"+noReplica)
	})
}

func TestPause_MeasuresDuration(t *testing.T) {
	for _, target := range []string{"n2", "c1", "c2"} { // c2 has nothing to do
		t.Run(target, func(t *testing.T) {
			onClusters(t, func(t *testing.T, r *rig) {
				const long = 300 * time.Millisecond
				r.clients.do(t, "c1", loop)
				r.await(t, "c1 begins", func() bool { return r.clients.LastEventTime("c1") > 0 })
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
				r.await(t, "c1 goes on", func() bool { return r.clients.LastEventTime("c1") > word })
			})
		})
	}
}

// A client without events since its pause is stopped; an event at the moment of the pause was in flight.
func TestPauseClient_SilentClientIsStopped(t *testing.T) {
	onVirtual(t, func(t *testing.T, r *rig) {
		s, err := r.nemesis.pauseControl("c1")
		require.NoError(t, err)
		r.events.Record(history.Event{Process: "c1", Time: 100})
		for since, still := range map[int64]bool{99: false, 100: true} {
			is, _, err := s.observe(ctx, since)
			require.NoError(t, err)
			require.Equal(t, still, is, since)
		}
	})
}

func TestKillClient_NoFurtherEvents(t *testing.T) {
	onClusters(t, func(t *testing.T, r *rig) {
		r.hold(t, "k0") // connects
		r.clients.do(t, "c1", loop)
		r.await(t, "c1 acquires", func() bool { return len(r.outcomes("c1", history.OpAcquire)) > 1 })
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
		require.Equal(t, 2, *end.Affected, "the renewal, and the look at the clock 100 ms after the acquire: %v", end)
		require.InDelta(t, ttl/2-100*time.Millisecond, duration(t, end.Measured, "late by"), float64(100*time.Millisecond))
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
