package virtual_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// newer opens a virtual pair of a release that knows WAITAOF.
func newer(t *testing.T, setting cluster.Persistence) *virtual.Cluster {
	t.Helper()
	maker, err := virtual.Kind.Open(ctx, cluster.Choice{}, nil)
	require.NoError(t, err)
	c, err := maker.New(ctx, cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Replicas: map[string]string{"r1": "n1"},
		Persistence: setting, Commands: []string{"WAITAOF"}, Seed: 1, Record: func(history.Event) {}})
	require.NoError(t, err)
	return c.(*virtual.Cluster)
}

// takes carries out deeds on a virtual pair, and gives the last reply and how long it took.
func takes(t *testing.T, setting cluster.Persistence, deeds ...deed) (last string, took time.Duration) {
	t.Helper()
	inBubble(t, func() {
		c := newer(t, setting)
		p := pair{c, func(name string) *redis.Client { return connect(c, "c1", name) }}
		for _, d := range deeds {
			began := c.Now()
			var err error
			last, err = d.do(p)
			require.NoError(t, err, d.what)
			took = time.Duration(c.Now() - began)
		}
		require.NoError(t, c.Close())
	})
	return last, took
}

func TestWaitAOFAnswersWhenItIsOnTheDisks(t *testing.T) {
	set := []any{"SET", "a", "1"}
	reply, took := takes(t, cluster.PersistAlways, say("n1", set, []any{"WAITAOF", 1, 1, 5000}))
	require.Equal(t, "OK; [1 1]", reply)
	require.Less(t, took, 50*time.Millisecond, "always has it on both disks before it is answered")

	reply, took = takes(t, cluster.PersistEverysec, wait(300*time.Millisecond), say("n1", set, []any{"WAITAOF", 1, 0, 5000}))
	require.Regexp(t, `^OK; \[1 [01]\]$`, reply)
	require.InDelta(t, 700*time.Millisecond, took, float64(10*time.Millisecond), "until the second is over")
	reply, took = takes(t, cluster.PersistEverysec, wait(300*time.Millisecond), say("n1", set, []any{"WAITAOF", 0, 1, 5000}))
	require.Regexp(t, `^OK; \[[01] 1\]$`, reply)
	require.Less(t, took, 2*time.Second, "a second for the disk, and one until the replica says so")
	require.Greater(t, took, 600*time.Millisecond)

	reply, took = takes(t, cluster.PersistNo, say("n1", set, []any{"WAITAOF", 1, 1, 700}))
	require.Equal(t, "OK; [0 0]", reply, "nothing is ever synced")
	require.InDelta(t, 700*time.Millisecond, took, float64(20*time.Millisecond))
	reply, _ = takes(t, cluster.PersistNone, say("n1", set, []any{"WAITAOF", 0, 1, 300}))
	require.Equal(t, "OK; [0 0]", reply, "a replica without a file does not say that it has anything on its disk")
	reply, _ = takes(t, cluster.PersistAlways, cut, say("n1", set, []any{"WAITAOF", 1, 1, 300}))
	require.Equal(t, "OK; [1 0]", reply)
}

// What WAITAOF has counted is there after the machines have lost their power.
func TestWhatWaitAOFCountsOutlivesAPowerLoss(t *testing.T) {
	power := func(name string) deed {
		return act("power loss of "+name, func(p pair) error {
			_, err := p.Node(name).PowerLoss(ctx)
			return err
		})
	}
	for n := range 20 {
		moment := wait(time.Duration(n) * 97 * time.Millisecond)
		reply, _ := takes(t, cluster.PersistEverysec, moment, say("n1", []any{"SET", "a", "1"}, []any{"WAITAOF", 1, 1, 5000}),
			power("n1"), power("r1"), start("r1"), say("r1", []any{"GET", "a"}))
		require.Equal(t, "1", reply, n)
	}
}

// Redis 7.0 does not know it, and says so; where it is known, transactions and scripts
// cannot have it.
func TestWaitAOFIsOfLaterReleases(t *testing.T) {
	reply, _ := modelled(t, nil, say("n1", []any{"WAITAOF", 1, 1, 100}))
	require.Contains(t, reply, "ERR unknown command")
	reply, _ = takes(t, cluster.PersistAlways, say("n1", []any{"MULTI"}, []any{"WAITAOF", 1, 1, 100}, []any{"EXEC"}))
	require.Contains(t, reply, "ERR WAITAOF is not modelled")
	reply, _ = takes(t, cluster.PersistAlways, say("n1", []any{"EVAL", "return redis.call('WAITAOF', 1, 1, 100)", 0}))
	require.Contains(t, reply, "ERR WAITAOF is not modelled")
	require.ErrorContains(t, virtual.Kind.Knows(cluster.Choice{Server: "redis-7.0"}, "WAITAOF"), "use --server redis-8.4")
	require.NoError(t, virtual.Kind.Knows(cluster.Choice{}, "WAITAOF"))
	require.NoError(t, virtual.Kind.Knows(cluster.Choice{Server: "valkey-9.0"}, "WAITAOF"))
}

// TestVirtualNodesWaitForDisksAsRedisDoes compares every answer with that of a real server that
// knows WAITAOF, where there is one in PATH.
func TestVirtualNodesWaitForDisksAsRedisDoes(t *testing.T) {
	needsRedis(t)
	var lack error = fmt.Errorf("no server that knows WAITAOF is in PATH")
	for _, program := range []string{"redis-server", "valkey-server"} {
		choice := cluster.Choice{Server: program}
		if local.Kind.Serves(program) == nil && local.Kind.Knows(choice, "WAITAOF") == nil {
			lack = nil
			compareWaitAOF(t, program)
		}
	}
	needs.Check(t, needs.Servers, lack)
}

func compareWaitAOF(t *testing.T, program string) {
	t.Helper()
	set := []any{"SET", "a", "1"}
	waitAOF := func(local, replicas any, timeout any) []any { return []any{"WAITAOF", local, replicas, timeout} }
	wrong := say("n1", []any{"WAITAOF", 1, 1}, waitAOF("x", 1, 1), waitAOF(2, 1, 1), waitAOF(-1, 1, 1), waitAOF(0, "x", 1), waitAOF(0, -1, 1),
		waitAOF(1, 1, "x"), waitAOF(1, 1, -1), waitAOF(2, "x", "x"), waitAOF(0, 0, 1))
	ofAReplica := say("r1", waitAOF(0, 0, 1), waitAOF(1, 0, 1))
	for _, setting := range []cluster.Persistence{cluster.PersistNone, cluster.PersistNo, cluster.PersistEverysec, cluster.PersistAlways} {
		t.Run(program+" "+string(setting), func(t *testing.T) {
			t.Parallel()
			deeds := []deed{settle, wrong, ofAReplica, say("n1", waitAOF(0, 1, 10)), wait(1500 * time.Millisecond),
				say("n1", set, waitAOF(1, 1, 2800)), // more than the two seconds of everysec
				say("n1", waitAOF(0, 1, 10)),        // it has written nothing
				settle, cut, say("n1", set, waitAOF(1, 1, 1500)), say("n1", set, waitAOF(0, 1, 1500)),
				heal, settle, say("n1", set, waitAOF(1, 1, 2800)), kill("r1"), say("n1", set, waitAOF(1, 1, 1500))}
			compared(t, cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Replicas: map[string]string{"r1": "n1"},
				Persistence: setting, Commands: []string{"WAITAOF"}, Seed: 1, Record: func(history.Event) {}}, program, deeds)
		})
	}
}
