package virtual_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// send is say, with commands that semicolons separate.
func send(name, commands string) step {
	var all [][]any
	for _, c := range strings.Split(commands, ";") {
		all = append(all, words(c))
	}
	return say(name, all...)
}

func TestModelledReplicas_AnswerInTime(t *testing.T) {
	const soon, ever, slack = 50 * time.Millisecond, time.Hour, 20 * time.Millisecond
	linked := step{"linked", func(p pair) (string, error) {
		seen, err := p.Node("r1").Look(ctx)
		return fmt.Sprint(seen.Replication.Linked), err
	}}
	set := send("n1", "SET a 1")
	none, always, everysec := keeps(cluster.PersistNone), knowsWaitAOF(cluster.PersistAlways),
		knowsWaitAOF(cluster.PersistEverysec)
	for _, c := range []struct {
		why         string
		change      func(*cluster.Config)
		steps       []step
		reply       string // of the last step, a regular expression
		least, most time.Duration
	}{
		{"always has it on both disks before it is answered", always,
			[]step{send("n1", "SET a 1; WAITAOF 1 1 5000")}, `OK; \[1 1\]`, 0, soon},
		{"everysec has it when the second is over", everysec,
			[]step{wait(300 * time.Millisecond), send("n1", "SET a 1; WAITAOF 1 0 5000")}, `OK; \[1 [01]\]`,
			690 * time.Millisecond, 710 * time.Millisecond},
		{"a second for the replica's disk, and one until it reports it", everysec,
			[]step{wait(300 * time.Millisecond), send("n1", "SET a 1; WAITAOF 0 1 5000")}, `OK; \[[01] 1\]`,
			600 * time.Millisecond, 2 * time.Second},
		{"nothing is ever synced", knowsWaitAOF(cluster.PersistNo),
			[]step{send("n1", "SET a 1; WAITAOF 1 1 700")}, `OK; \[0 0\]`, 700*time.Millisecond - slack,
			700*time.Millisecond + slack},
		{"a replica without an AOF reports no fsynced offset", knowsWaitAOF(cluster.PersistNone),
			[]step{send("n1", "SET a 1; WAITAOF 0 1 300")}, `OK; \[0 0\]`, 0, ever},
		{"the replica is cut off", always, []step{cut, send("n1", "SET a 1; WAITAOF 1 1 300")}, `OK; \[1 0\]`, 0, ever},

		{"WAIT requests an acknowledgement at once", none,
			[]step{send("n1", "SET a 1; WAIT 1 5000")}, "OK; 1", 0, soon},
		{"WAIT lasts until its timeout", none, []step{cut, send("n1", "SET a 1; WAIT 1 700")},
			"OK; 0", 700*time.Millisecond - slack, 700*time.Millisecond + slack},
		{"WAIT has the number of acknowledgements", none, []step{send("n1", "SET a 1; WAIT 2 300")},
			"OK; 1", 0, ever},
		{"WAIT is misused", none, []step{send("n1", "WAIT 1; WAIT x 1; WAIT 1 x; WAIT 1 -1")},
			"ERR wrong number of arguments for 'wait' command; ERR value is not an integer or out of range; " +
				"ERR timeout is not an integer or out of range; ERR timeout is negative", 0, ever},

		{"Redis 7.0 does not know WAITAOF", none, []step{send("n1", "WAITAOF 1 1 100")},
			"ERR unknown command.*", 0, ever},
		{"a transaction does not wait", always, []step{send("n1", "MULTI; WAITAOF 1 1 100; EXEC")},
			".*ERR WAITAOF is not modelled.*", 0, ever},
		{"a script does not wait", always, []step{say("n1", []any{"EVAL", "return redis.call('WAITAOF', 1, 1, 100)", 0})},
			".*ERR WAITAOF is not modelled.*", 0, ever},

		{"a cut is shorter than the timeout", none, []step{cut, wait(50 * time.Second), linked}, "true", 0, ever},
		{"a cut is longer: both sides disconnect", none, []step{cut, wait(90 * time.Second), linked}, "false", 0, ever},
		{"the reconnected replica gets the missing writes", none,
			[]step{cut, set, wait(90 * time.Second), heal, settle, send("r1", "GET a")}, "1", 0, ever},
		{"a master that shuts down waits for its replicas as long as Redis", none, []step{cut, set, shutdown("n1")}, "",
			10*time.Second - slack, 10*time.Second + slack},
		{"a master that shuts down does not wait longer", none, []step{set, shutdown("n1")}, "", 0, 3 * time.Second},
		{"a replica has what its master waited for", none,
			[]step{set, shutdown("n1"), promote, send("r1", "GET a; SET b 2")}, "1; OK", 0, ever},
	} {
		t.Run(c.why, func(t *testing.T) {
			reply, took := modelled(t, c.change, c.steps...)
			require.Regexp(t, "^"+c.reply+"$", reply)
			require.GreaterOrEqual(t, took, c.least)
			require.LessOrEqual(t, took, c.most)
		})
	}
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
		reply, _ := modelled(t, knowsWaitAOF(cluster.PersistEverysec), moment, send("n1", "SET a 1; WAITAOF 1 1 5000"),
			power("n1"), power("r1"), start("r1"), send("r1", "GET a"))
		require.Equal(t, "1", reply, n)
	}
}

// Valkey 8 and 9.1 answer WAITAOF before the fsync.
func TestWaitAOF_Valkey_IsNotModelled(t *testing.T) {
	require.ErrorContains(t, virtual.Kind.Knows(cluster.Choice{Server: "redis-7.0"}, "WAITAOF"), "use --server redis-8.4")
	require.NoError(t, virtual.Kind.Knows(cluster.Choice{}, "WAITAOF"))
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
	wrong := send("n1", "WAITAOF 1 1; WAITAOF x 1 1; WAITAOF 2 1 1; WAITAOF -1 1 1; WAITAOF 0 x 1; WAITAOF 0 -1 1;"+
		"WAITAOF 1 1 x; WAITAOF 1 1 -1; WAITAOF 2 x x; WAITAOF 0 0 1")
	onReplica := send("r1", "WAITAOF 0 0 1; WAITAOF 1 0 1")
	acknowledged := send("n1", "SET a 1; WAITAOF 1 1 2800") // more than the two seconds of everysec
	cutOff := send("n1", "SET a 1; WAITAOF 1 1 1500")
	for _, setting := range []cluster.Persistence{cluster.PersistNone, cluster.PersistNo, cluster.PersistEverysec,
		cluster.PersistAlways} {
		t.Run(string(setting), func(t *testing.T) {
			t.Parallel()
			steps := []step{settle, wrong, onReplica, send("n1", "WAITAOF 0 1 10"), wait(1500 * time.Millisecond), acknowledged,
				send("n1", "WAITAOF 0 1 10"), // without a write
				settle, cut, cutOff, send("n1", "SET a 1; WAITAOF 0 1 1500"),
				heal, settle, acknowledged, kill("r1"), cutOff}
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
		p := onBench(b)
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

func TestWait_MasterPausedPastTimeout_AnswersAfterResume(t *testing.T) {
	for want, command := range map[string]string{"OK; 0": "WAIT 1 1000", "OK; [1 0]": "WAITAOF 1 1 1000"} {
		on(t, "", withReplica(knowsWaitAOF(cluster.PersistAlways)), func(b clustertest.Bench) {
			require.NoError(t, b.Link("r1", "n1").Cut(history.Both))
			answered := make(chan string, 1)
			go func() {
				replies, _ := send("n1", "SET a 1;"+command).do(onBench(b))
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
