package virtual_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

func TestWaitAOF_AnswersAfterFsyncs(t *testing.T) {
	set := []any{"SET", "a", "1"}
	reply, took := modelled(t, knowsWaitAOF(cluster.PersistAlways), say("n1", set, []any{"WAITAOF", 1, 1, 5000}))
	require.Equal(t, "OK; [1 1]", reply)
	require.Less(t, took, 50*time.Millisecond, "always has it on both disks before it is answered")

	reply, took = modelled(t, knowsWaitAOF(cluster.PersistEverysec), wait(300*time.Millisecond),
		say("n1", set, []any{"WAITAOF", 1, 0, 5000}))
	require.Regexp(t, `^OK; \[1 [01]\]$`, reply)
	require.InDelta(t, 700*time.Millisecond, took, float64(10*time.Millisecond), "until the second is over")
	reply, took = modelled(t, knowsWaitAOF(cluster.PersistEverysec), wait(300*time.Millisecond),
		say("n1", set, []any{"WAITAOF", 0, 1, 5000}))
	require.Regexp(t, `^OK; \[[01] 1\]$`, reply)
	require.Less(t, took, 2*time.Second, "a second for the disk, and one until the replica reports it")
	require.Greater(t, took, 600*time.Millisecond)

	reply, took = modelled(t, knowsWaitAOF(cluster.PersistNo), say("n1", set, []any{"WAITAOF", 1, 1, 700}))
	require.Equal(t, "OK; [0 0]", reply, "nothing is ever synced")
	require.InDelta(t, 700*time.Millisecond, took, float64(20*time.Millisecond))
	reply, _ = modelled(t, knowsWaitAOF(cluster.PersistNone), say("n1", set, []any{"WAITAOF", 0, 1, 300}))
	require.Equal(t, "OK; [0 0]", reply, "a replica without an AOF reports no fsynced offset")
	reply, _ = modelled(t, knowsWaitAOF(cluster.PersistAlways), cut, say("n1", set, []any{"WAITAOF", 1, 1, 300}))
	require.Equal(t, "OK; [1 0]", reply)
}

func TestWaitAOF_CountedWrite_SurvivesPowerLoss(t *testing.T) {
	power := func(name string) step {
		return act("power loss of "+name, func(p pair) error {
			_, err := p.Node(name).PowerLoss(ctx)
			return err
		})
	}
	for n := range 20 {
		moment := wait(time.Duration(n) * 97 * time.Millisecond)
		reply, _ := modelled(t, knowsWaitAOF(cluster.PersistEverysec), moment, say("n1", []any{"SET", "a", "1"},
			[]any{"WAITAOF", 1, 1, 5000}),
			power("n1"), power("r1"), start("r1"), say("r1", []any{"GET", "a"}))
		require.Equal(t, "1", reply, n)
	}
}

// Later releases refuse it in transactions and scripts.
func TestWaitAOF_Redis70_IsUnknown(t *testing.T) {
	reply, _ := modelled(t, keeps(cluster.PersistNone), say("n1", []any{"WAITAOF", 1, 1, 100}))
	require.Contains(t, reply, "ERR unknown command")
	reply, _ = modelled(t, knowsWaitAOF(cluster.PersistAlways), say("n1", []any{"MULTI"}, []any{"WAITAOF", 1, 1, 100},
		[]any{"EXEC"}))
	require.Contains(t, reply, "ERR WAITAOF is not modelled")
	reply, _ = modelled(t, knowsWaitAOF(cluster.PersistAlways), say("n1", []any{"EVAL", "return redis.call('WAITAOF', " +
		"1, 1, 100)", 0}))
	require.Contains(t, reply, "ERR WAITAOF is not modelled")
	require.ErrorContains(t, virtual.Kind.Knows(cluster.Choice{Server: "redis-7.0"}, "WAITAOF"), "use --server redis-8.4")
	require.NoError(t, virtual.Kind.Knows(cluster.Choice{}, "WAITAOF"))
}

// Valkey 8 and 9.1 answer WAITAOF before the fsync.
func TestWaitAOF_Valkey_IsNotModelled(t *testing.T) {
	require.ErrorContains(t, virtual.Kind.Knows(cluster.Choice{Server: "valkey-9.0"}, "WAITAOF"),
		"its valkey-9.0 has none; leave --server out, or use --server redis-8.4")
	on(t, "valkey-9.0", clustertest.Config(1, nil), func(b clustertest.Bench) {
		require.ErrorContains(t, b.Over("c1", "n1").Do(ctx, "WAITAOF", 0, 0, 1).Err(), "ERR WAITAOF is not modelled")
	})
}

// It needs a Redis in PATH with WAITAOF.
func TestWaitAOF_AsRealServers(t *testing.T) {
	needsRedis(t)
	const program = "redis-server"
	needs.Check(t, needs.Servers, local.Kind.Knows(cluster.Choice{Server: program}, "WAITAOF"))
	compareWaitAOF(t, program)
}

func compareWaitAOF(t *testing.T, program string) {
	t.Helper()
	set := []any{"SET", "a", "1"}
	waitAOF := func(local, replicas any, timeout any) []any { return []any{"WAITAOF", local, replicas, timeout} }
	wrong := say("n1", []any{"WAITAOF", 1, 1}, waitAOF("x", 1, 1), waitAOF(2, 1, 1), waitAOF(-1, 1, 1), waitAOF(0, "x", 1),
		waitAOF(0, -1, 1),
		waitAOF(1, 1, "x"), waitAOF(1, 1, -1), waitAOF(2, "x", "x"), waitAOF(0, 0, 1))
	onReplica := say("r1", waitAOF(0, 0, 1), waitAOF(1, 0, 1))
	for _, setting := range []cluster.Persistence{cluster.PersistNone, cluster.PersistNo, cluster.PersistEverysec,
		cluster.PersistAlways} {
		t.Run(program+" "+string(setting), func(t *testing.T) {
			t.Parallel()
			steps := []step{settle, wrong, onReplica, say("n1", waitAOF(0, 1, 10)), wait(1500 * time.Millisecond),
				say("n1", set, waitAOF(1, 1, 2800)), // more than the two seconds of everysec
				say("n1", waitAOF(0, 1, 10)),        // without a write
				settle, cut, say("n1", set, waitAOF(1, 1, 1500)), say("n1", set, waitAOF(0, 1, 1500)),
				heal, settle, say("n1", set, waitAOF(1, 1, 2800)), kill("r1"), say("n1", set, waitAOF(1, 1, 1500))}
			compared(t, withReplica(knowsWaitAOF(setting)), program, steps)
		})
	}
}

// withReplica is the configuration of a pair.
func withReplica(change func(*cluster.Config)) cluster.Config {
	return clustertest.Config(1, func(cfg *cluster.Config) {
		cfg.Replicas = map[string]string{"r1": "n1"}
		change(cfg)
	})
}

// modelled runs steps on a virtual pair, and returns the last reply and its duration.
func modelled(t *testing.T, change func(*cluster.Config), steps ...step) (last string, took time.Duration) {
	t.Helper()
	on(t, "", withReplica(change), func(b clustertest.Bench) {
		p := pair{b, func(name string) *redis.Client { return b.Over("c1", name) }}
		for _, d := range steps {
			began := b.Now()
			var err error
			last, err = d.do(p)
			require.NoError(t, err, d.what)
			took = time.Duration(b.Now() - began)
		}
	})
	return last, took
}

// knowsWaitAOF configures a release with WAITAOF.
func knowsWaitAOF(p cluster.Persistence) func(*cluster.Config) {
	return func(cfg *cluster.Config) { cfg.Persistence, cfg.Commands = p, []string{"WAITAOF"} }
}

func TestWait_AnswersAfterAcknowledgements(t *testing.T) {
	set := []any{"SET", "a", "1"}
	reply, took := modelled(t, keeps(cluster.PersistNone), say("n1", set, []any{"WAIT", 1, 5000}))
	require.Equal(t, "OK; 1", reply)
	require.Less(t, took, 50*time.Millisecond, "it requests an acknowledgement at once")
	reply, took = modelled(t, keeps(cluster.PersistNone), cut, say("n1", set, []any{"WAIT", 1, 700}))
	require.Equal(t, "OK; 0", reply)
	require.InDelta(t, 700*time.Millisecond, took, float64(20*time.Millisecond))
	reply, _ = modelled(t, keeps(cluster.PersistNone), say("n1", set, []any{"WAIT", 2, 300}))
	require.Equal(t, "OK; 1", reply, "the number of acknowledgements")
	reply, _ = modelled(t, keeps(cluster.PersistNone), say("n1", []any{"WAIT", 1}, []any{"WAIT", "x", 1},
		[]any{"WAIT", 1, "x"}, []any{"WAIT", 1, -1}))
	require.Equal(t, "ERR wrong number of arguments for 'wait' command; ERR value is not an integer or out of range; "+
		"ERR timeout is not an integer or out of range; ERR timeout is negative", reply)
}

func TestWait_MasterPausedPastTimeout_AnswersAfterResume(t *testing.T) {
	for want, command := range map[string][]any{"OK; 0": {"WAIT", 1, 1000}, "OK; [1 0]": {"WAITAOF", 1, 1, 1000}} {
		on(t, "", withReplica(knowsWaitAOF(cluster.PersistAlways)), func(b clustertest.Bench) {
			require.NoError(t, b.Link("r1", "n1").Cut(history.Both))
			answered := make(chan string, 1)
			go func() {
				replies, _ := say("n1", []any{"SET", "a", "1"},
					command).do(pair{b, func(name string) *redis.Client { return b.Over("c1", name) }})
				answered <- replies
			}()
			time.Sleep(500 * time.Millisecond)
			require.NoError(t, b.Node("n1").Pause(ctx))
			time.Sleep(2 * time.Second)
			require.Empty(t, answered, "a node that is paused has answered")
			require.NoError(t, b.Node("n1").Resume(ctx))
			require.Equal(t, want, <-answered)
		})
	}
}

// After the reconnection the replica gets the missing writes.
func TestReplication_CutLongerThanTimeout_BothSidesDisconnect(t *testing.T) {
	linked := step{"linked", func(p pair) (string, error) {
		seen, err := p.Node("r1").Look(ctx)
		return fmt.Sprint(seen.Replication.Linked), err
	}}
	reply, _ := modelled(t, keeps(cluster.PersistNone), cut, wait(50*time.Second), linked)
	require.Equal(t, "true", reply, "before the timeout")
	reply, _ = modelled(t, keeps(cluster.PersistNone), cut, wait(90*time.Second), linked)
	require.Equal(t, "false", reply)
	reply, _ = modelled(t, keeps(cluster.PersistNone), cut, say("n1", []any{"SET", "a", "1"}), wait(90*time.Second), heal,
		settle, say("r1", []any{"GET", "a"}))
	require.Equal(t, "1", reply)
}

// It waits no longer than Redis does.
func TestShutdown_Master_WaitsForItsReplicas(t *testing.T) {
	set := say("n1", []any{"SET", "a", "1"})
	_, took := modelled(t, keeps(cluster.PersistNone), cut, set, shutdown("n1"))
	require.InDelta(t, 10*time.Second, took, float64(20*time.Millisecond))
	_, took = modelled(t, keeps(cluster.PersistNone), set, shutdown("n1"))
	require.Less(t, took, 3*time.Second)
	reply, _ := modelled(t, keeps(cluster.PersistNone), set, shutdown("n1"), promote,
		say("r1", []any{"GET", "a"}, []any{"SET", "b", "2"}))
	require.Equal(t, "1; OK", reply)
}
