package nemesis

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// withMemory sets servers with limited memory.
func withMemory(policy string) setting {
	return setting{change: func(c *cluster.Config) {
		c.Settings = map[string]string{"maxmemory": "4mb", "maxmemory-policy": policy}
	}}
}

func TestFill_RefusesWritesOrEvictsKeys(t *testing.T) {
	for _, policy := range []string{"noeviction", "allkeys-lru", "volatile-ttl"} {
		t.Run(policy, func(t *testing.T) {
			withMemory(policy).onLocal(t, func(t *testing.T, r *rig) {
				r.hold(t, "k1")
				begun := r.apply(t, Fault{Kind: Fill, Targets: []string{"n2"}})
				f := r.last(t)
				require.Equal(t, history.PhaseBegin, f.Phase)
				require.True(t, f.Effective, f.Measured)
				require.Less(t, number(t, f.Measured, "used_memory before"), number(t, f.Measured, "used_memory"))
				require.Equal(t, 4<<20, f.Asked.MaxMemory)
				keys := r.look(t, "n2").Keys
				if policy == "noeviction" {
					require.Len(t, keys, 1, "the lock is there, and the other tenant's keys are no locks")
					require.Zero(t, number(t, f.Measured, "evicted_keys"))
					require.GreaterOrEqual(t, number(t, f.Measured, "used_memory"), 4<<20)
				} else {
					require.Empty(t, keys)
					require.Positive(t, number(t, f.Measured, "evicted_keys"))
				}

				r.hold(t, "k2")
				end := r.end(t, begun)
				require.True(t, end.Effective)
				require.Less(t, number(t, end.Measured, "used_memory"), 4<<20)
				if policy == "noeviction" {
					require.Positive(t, number(t, end.Measured, "refused writes"))
				}
				r.hold(t, "k3")
				require.Contains(t, r.look(t, "n2").Keys, "k3", "there is room again")
			})
		})
	}
}

// FLUSHALL in a transaction fails on a full server.
func TestFill_FullServer_CanBeFlushed(t *testing.T) {
	withMemory("noeviction").onLocal(t, func(t *testing.T, r *rig) {
		r.hold(t, "k1")
		r.apply(t, Fault{Kind: Fill, Targets: []string{"n2"}})
		r.apply(t, Fault{Kind: Flush, Targets: []string{"n2"}})
		require.True(t, r.last(t).Effective)
		require.Equal(t, "1", r.last(t).Measured["keys before"])
	})
}

func TestFill_NoMaxmemory_Refused(t *testing.T) {
	setting{}.onLocal(t, func(t *testing.T, r *rig) {
		r.refused(t, Fault{Kind: Fill, Targets: []string{"n2"}}, "its memory has no limit (maxmemory), and is never full")
	})
}

// With appendfsync always a server that cannot write ends; with everysec it refuses writes until there is room.
func TestFillDisk_ServerStopsOrReportsError(t *testing.T) {
	for persistence, want := range map[cluster.Persistence][2]string{
		cluster.PersistAlways:   {"state", "down"},
		cluster.PersistEverysec: {"aof_last_write_status", "err"},
	} {
		t.Run(string(persistence), func(t *testing.T) {
			setting{change: func(c *cluster.Config) { c.Persistence = persistence }}.onLocal(t, func(t *testing.T, r *rig) {
				needShim(t, r, cluster.AbilityDisk)
				begun := r.apply(t, Fault{Kind: FillDisk, Targets: []string{"n2"}})
				require.Equal(t, history.Asked{Error: "ENOSPC"}, r.last(t).Asked)
				r.hold(t, "k1")
				end := r.end(t, begun)
				require.True(t, end.Effective)
				require.Equal(t, want[1], end.Measured[want[0]])
				require.Positive(t, number(t, end.Measured, "refused writes"))

				if persistence == cluster.PersistAlways {
					r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
					require.True(t, r.last(t).Effective)
				}
				n2 := r.cluster.Node("n2").(cluster.Server)
				require.Eventually(t, func() bool {
					info, err := n2.Info(ctx)
					return err == nil && info["aof_last_write_status"] == "ok"
				}, 10*time.Second, 50*time.Millisecond, "it tries again every second")
				r.hold(t, "k2")
				require.Contains(t, r.look(t, "n2").Keys, "k2")
			})
		})
	}
}

func TestFsyncFaults_TakeEffectAndEnd(t *testing.T) {
	for _, c := range []struct {
		fault Fault
		asked history.Asked
	}{
		{Fault{Kind: SlowFsync, Delay: 300 * time.Millisecond}, history.Asked{By: history.Duration(300 * time.Millisecond)}},
		{Fault{Kind: FailFsync}, history.Asked{Error: "EIO"}},
	} {
		t.Run(c.fault.Kind, func(t *testing.T) {
			setting{}.onLocal(t, func(t *testing.T, r *rig) {
				needShim(t, r, cluster.AbilityDisk)
				c.fault.Targets = []string{"n2"}
				begun := r.apply(t, c.fault)
				require.Equal(t, history.PhaseBegin, r.last(t).Phase)
				require.Equal(t, c.asked, r.last(t).Asked)
				r.hold(t, "k1")
				r.apply(t, Fault{Kind: Shutdown, Targets: []string{"n2"}}) // a shutdown syncs
				end := r.end(t, begun)
				require.True(t, end.Effective)
				disturbed := number(t, end.Measured, "fsyncs")
				require.Positive(t, disturbed)

				r.apply(t, Fault{Kind: Start, Targets: []string{"n2"}})
				r.apply(t, Fault{Kind: Shutdown, Targets: []string{"n2"}})
				after, err := r.cluster.Node("n2").(cluster.Server).Disturb(nil)
				require.NoError(t, err)
				require.Equal(t, disturbed, after.Delayed+after.Failed, "fsyncs are as before")
			})
		})
	}
}

func TestRewrite_LastsAsRequested(t *testing.T) {
	setting{}.onLocal(t, func(t *testing.T, r *rig) {
		begun := r.apply(t, Fault{Kind: Rewrite, Targets: []string{"n2"}, Duration: 300 * time.Millisecond})
		require.True(t, r.last(t).Effective)
		require.Equal(t, "300ms", r.last(t).Asked.Lasts.String())
		require.Equal(t, "1", r.last(t).Measured["aof_rewrite_in_progress"])

		n2 := r.cluster.Node("n2").(cluster.Server)
		r.sleep(150 * time.Millisecond)
		going, err := rewriteFlag(ctx, n2)
		require.NoError(t, err)
		require.Equal(t, "1", going)
		require.Eventually(t, func() bool { going, err := rewriteFlag(ctx, n2); return err == nil && going == "0" },
			10*time.Second, 10*time.Millisecond)
		end := r.end(t, begun)
		require.Equal(t, "0", end.Measured["aof_rewrite_in_progress"])
		require.GreaterOrEqual(t, duration(t, end.Measured, "lasted"), 300*time.Millisecond)
	})
}

// A supervisor restarts a killed or shut-down node as another server; the history has both events.
func TestSupervisor_RestartsNode(t *testing.T) {
	supervised := setting{change: func(c *cluster.Config) { c.Supervised, c.Persistence = true, cluster.PersistNone }}
	supervised.onLocal(t, func(t *testing.T, r *rig) {
		for i, kind := range []string{Kill, Shutdown, Kill} {
			r.hold(t, fmt.Sprint("k", i+1))
			before := r.look(t, "n2")
			require.Len(t, before.Keys, 1)

			r.apply(t, Fault{Kind: kind, Targets: []string{"n2"}})
			all := r.faults()
			died, back := all[len(all)-2], all[len(all)-1]
			require.Equal(t, []string{string(kind), Start}, []string{died.Kind, back.Kind})
			require.True(t, died.Effective && back.Effective)
			require.Equal(t, "its supervisor", back.Measured["by"])
			require.Equal(t, "up", back.Measured["state"])
			require.Equal(t, "0", back.Measured["keys"])
			require.NotEqual(t, before.RunID, back.Measured["run id"])
			require.Less(t, duration(t, back.Measured, "back after"), time.Second)
			r.refused(t, Fault{Kind: Start, Targets: []string{"n2"}}, "already up")
		}
	})
}

// The supervisor restarts nodes of a schedule, except after a power loss.
func TestRun_SupervisedNodes(t *testing.T) {
	setting{change: func(c *cluster.Config) { c.Supervised = true }}.onLocal(t, func(t *testing.T, r *rig) {
		plan := []Planned{
			{Start: 10 * time.Millisecond, Duration: 50 * time.Millisecond,
				Fault: Fault{Kind: Kill, Targets: []string{"n1", "n2"}}},
			{Start: 20 * time.Millisecond, Duration: 50 * time.Millisecond,
				Fault: Fault{Kind: Shutdown, Targets: []string{"n3"}}},
		}
		if r.can(cluster.AbilityPowerLoss) == nil {
			plan = append(plan, Planned{Start: 200 * time.Millisecond, Duration: 300 * time.Millisecond,
				Fault: Fault{Kind: PowerLoss, Targets: []string{"n3"}}})
		}
		require.NoError(t, r.nemesis.Run(ctx, plan))
		all := r.faults()
		require.Len(t, all, 6+2*(len(plan)-2))
		for _, f := range all {
			require.True(t, f.Effective, "%+v", f)
		}
		require.NotContains(t, r.last(t).Measured, "by", "the power came back, and the schedule started it")
		r.requireWell(t)
	})
}

// onRedisCluster runs a test on a Redis Cluster in which n3 has k1.
func onRedisCluster(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	setting{change: func(cfg *cluster.Config) { cfg.RedisCluster = true }}.onLocal(t, func(t *testing.T, r *rig) {
		reply, err := r.cluster.Node("n3").Command(ctx, "SET k1 held PX 60000")
		require.NoError(t, err)
		require.Equal(t, "+OK", reply)
		test(t, r)
	})
}

// owners are the tokens of k1 that n3 and n1 serve.
func (r *rig) owners(t *testing.T) [2]string {
	t.Helper()
	return [2]string{r.look(t, "n3").Keys["k1"].Token, r.look(t, "n1").Keys["k1"].Token}
}

func TestMigrateSlot_Ends_AtMostOneMasterServesTheKey(t *testing.T) {
	for mistake, want := range map[string]struct{ open, over [2]string }{ // tokens on n3 and n1
		"":                {[2]string{"", "held"}, [2]string{"", "held"}},
		slotAssignedEarly: {[2]string{"held", ""}, [2]string{"", ""}},
		slotCancelled:     {[2]string{"", "held"}, [2]string{"", ""}},
	} {
		t.Run("mistake "+mistake, func(t *testing.T) {
			onRedisCluster(t, func(t *testing.T, r *rig) {
				begun := r.apply(t, Fault{Kind: MigrateSlot, Targets: []string{"n3"}, Key: "k1", To: "n1", Mistake: mistake})
				require.True(t, r.last(t).Effective, "%+v", r.last(t))
				require.Equal(t, history.SlotMoves, r.last(t).Class)
				require.Equal(t, want.open, r.owners(t), "while it is open")
				end := r.end(t, begun)
				require.True(t, end.Effective, "%+v", end)
				require.Equal(t, 1, *end.Affected)
				require.Positive(t, end.Since)
				require.Equal(t, want.over, r.owners(t), "once it is over")
			})
		})
	}
}

func TestMigrateSlot_NotTheSlotsOwner_Fails(t *testing.T) {
	onRedisCluster(t, func(t *testing.T, r *rig) {
		for target, want := range map[string]string{"n1": `the slot of k1 belongs to "n3": n1 cannot move it`,
			"n9": "unknown client or node n9"} {
			r.refused(t, Fault{Kind: MigrateSlot, Targets: []string{target}, Key: "k1", To: "n2"}, want)
		}
	})
}

// unmovedCluster is a Redis Cluster that replies OK, but moves no key.
type unmovedCluster struct{ cluster.Real }

func (unmovedCluster) MigrateKeys(context.Context, string, string, string) ([]string, error) {
	return nil, nil
}

func TestMigrateSlot_KeyStays_NotEffective(t *testing.T) {
	onRedisCluster(t, func(t *testing.T, r *rig) {
		r.use(unmovedCluster{r.cluster.(cluster.Real)}, r.clients)
		begun := r.apply(t, Fault{Kind: MigrateSlot, Targets: []string{"n3"}, Key: "k1", To: "n1", Mistake: slotCancelled})
		require.False(t, r.last(t).Effective, "the key is where it was: nobody is sent away for it")
		require.False(t, r.end(t, begun).Effective, "its old owner still has it")
	})
}
