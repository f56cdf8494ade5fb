package virtual_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/local"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/harness/cluster/shim"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// The differential test of replication sends the same commands, cuts, kills and promotions to a virtual and a real
// master with a replica, and compares every reply. No read depends on a race: before a cut, and before a read of the
// replica, both sides wait until the replica has every write, if it can.

// pair is a master, n1, and its replica, r1, on one side.
type pair struct {
	cluster.Cluster
	connect func(name string) *redis.Client
}

func onBench(b clustertest.Bench) pair {
	return pair{b, func(name string) *redis.Client { return b.Over("c1", name) }}
}

// step is an action on a pair; its results are compared.
type step struct {
	what string
	do   func(p pair) (string, error)
}

// say sends commands over a new connection.
func say(name string, commands ...[]any) step { return sayAs(coarse, name, commands) }

// sayAs is say, with replies formatted by show.
func sayAs(show func(*redis.Cmd, time.Duration) string, name string, commands [][]any) step {
	return step{fmt.Sprint(name, ": ", commands), func(p pair) (string, error) {
		rdb := p.connect(name)
		defer rdb.Close()
		conn := rdb.Conn()
		defer conn.Close()
		var replies []string
		for _, c := range commands {
			replies = append(replies, show(conn.Do(ctx, c...), unitOf(p)))
		}
		return strings.Join(replies, "; "), nil
	}}
}

// longTime is the unit of remaining times on a running clock, longer than any trial.
const longTime = 1000 * time.Second

// unitOf is the unit of remaining times, which are never near a multiple of it.
func unitOf(p pair) time.Duration {
	if p.Node("r1") == nil {
		return beat
	}
	return longTime
}

// coarse formats a reply: remaining times in units, and a script's error without the script's digest.
func coarse(cmd *redis.Cmd, unit time.Duration) string {
	v, err := cmd.Result()
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), " script: ")
		return text
	}
	if left, isInt := v.(int64); cmd.Name() == "pttl" && isInt && left >= 0 {
		return fmt.Sprint(time.Duration(left)*time.Millisecond/unit, " units")
	}
	if page, ok := v.([]any); ok && strings.HasSuffix(cmd.Name(), "scan") && len(page) == 2 {
		v = page[1] // without the cursor
	}
	if list, ok := v.([]any); ok && (unordered[cmd.Name()] || strings.HasSuffix(cmd.Name(), "scan")) {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	return fmt.Sprint(v)
}

// unordered are the commands with replies in any order.
var unordered = map[string]bool{"keys": true, "hgetall": true, "hkeys": true, "hvals": true, "smembers": true,
	"hrandfield": true, "srandmember": true, "zrandmember": true, "spop": true}

// act is a step without a result.
func act(what string, do func(p pair) error) step {
	return step{what, func(p pair) (string, error) { return "", do(p) }}
}

// rested waits until a real server's AOF has its full copy and every acknowledged write: the server may postpone
// writes during a background fsync.
func rested(p pair, name string) error {
	real, ok := p.Node(name).(cluster.Server)
	if !ok {
		return nil
	}
	return await(p, name+" has written its AOF", func() (bool, error) {
		info, err := real.Info(ctx)
		written := info["aof_buffer_length"] == "" || info["aof_buffer_length"] == "0"
		return written && info["aof_rewrite_in_progress"]+info["aof_rewrite_scheduled"] == "00", err
	})
}

func await(p pair, what string, is func() (bool, error)) error {
	came, err := cluster.Poll(ctx, p, time.Minute, 20*time.Millisecond, is)
	if err == nil && !came {
		err = fmt.Errorf("not after a minute: %s", what)
	}
	return err
}

func kill(name string) step {
	return act("kill "+name, func(p pair) error { return errors.Join(rested(p, name), p.Node(name).Kill(ctx)) })
}

func start(name string) step {
	return act("start "+name, func(p pair) error { return p.Node(name).Start(ctx) })
}

func shutdown(name string) step {
	return act("shut down "+name, func(p pair) error { return errors.Join(rested(p, name), p.Node(name).Shutdown(ctx)) })
}

func wait(d time.Duration) step {
	return act("wait "+d.String(), func(p pair) error { return p.Sleep(ctx, d) })
}

var (
	cut     = act("cut", func(p pair) error { return p.Link("r1", "n1").Cut(history.Both) })
	heal    = act("heal", func(p pair) error { return p.Link("r1", "n1").Heal(history.Both) })
	promote = act("promote", func(p pair) error { return p.Node("r1").Promote(ctx) })
	// settle waits until the replica has every write.
	settle = act("settle", func(p pair) error {
		return await(p, "the replica has everything", func() (bool, error) {
			master, busy := p.Node("n1").Look(ctx)
			replica, busyToo := p.Node("r1").Look(ctx)
			m, r := master.Replication, replica.Replication
			return busy == nil && busyToo == nil && r.Linked && r.History == m.History && r.Offset >= m.Offset, nil
		})
	})
)

func jump(by time.Duration) step {
	return act(fmt.Sprint("jump r1 by ", by),
		func(p pair) error { return p.Node("r1").SetClock(ctx, by, 0) })
}

// everything reads all keys of a server.
func everything(name string) step {
	var commands [][]any
	for _, key := range append(typedKeys["A"], keys...) {
		for _, read := range []string{"GET", "HGETALL", "SMEMBERS", "PTTL"} {
			commands = append(commands, []any{read, key})
		}
		commands = append(commands, []any{"LRANGE", key, 0, -1}, []any{"ZRANGE", key, 0, -1, "WITHSCORES"})
	}
	return say(name, commands...)
}

// life draws the steps of a pair. Between them both servers run and the replica has every write.
func life(r *rand.Rand) (steps []step) {
	writes := func() {
		var commands [][]any
		for range 1 + r.IntN(6) {
			commands = append(commands, write(r))
		}
		steps = append(steps, say("n1", commands...))
	}
	end := []func(string) step{kill, shutdown}[r.IntN(2)]
	writes()
	for range 5 {
		steps = append(steps, settle, everything("r1"))
		switch r.IntN(6) {
		case 0: // the replica lags
			steps = append(steps, cut)
			writes()
			steps = append(steps, everything("r1"), say("n1", words("SET a x"), words("WAIT 1 100")), heal)
		case 1: // the replica restarts: it has its disk's keys until the link heals
			steps = append(steps, cut, end("r1"), start("r1"), everything("r1"), heal)
		case 2: // the master restarts
			steps = append(steps, end("n1"), everything("r1"), start("n1"))
		case 3: // the replica is down while its master writes
			steps = append(steps, end("r1"))
			writes()
			steps = append(steps, start("r1"))
		case 4: // a fast clock on the replica only hides expired keys
			steps = append(steps, jump(longTime), everything("r1"))
			writes()
			steps = append(steps, settle, everything("r1"), jump(-longTime), everything("r1"))
		default:
			writes()
			steps = append(steps, say("n1", write(r), []any{"WAIT", 1, 10_000}), say("r1", write(r), []any{"WAIT", 1, 10}))
		}
	}
	if r.IntN(2) == 0 {
		steps = append(steps, jump(longTime))
	}
	steps = append(steps, settle, cut)
	writes()
	steps = append(steps, promote, everything("r1"), say("r1", write(r), write(r), []any{"WAIT", 1, 50}), heal,
		everything("r1"), everything("n1"), end("r1"), start("r1"), settle, everything("r1"))
	return steps
}

// compared runs all steps on a virtual pair and on a real pair of a program ("": redis-server), and compares.
func compared(t *testing.T, cfg cluster.Config, program string, steps []step) {
	t.Helper()
	carryOut := func(p pair) (replies []string, err error) {
		for _, d := range steps {
			reply, err := d.do(p)
			if err != nil {
				return replies, fmt.Errorf("%s: %w", d.what, err)
			}
			replies = append(replies, d.what+" -> "+reply)
		}
		return replies, nil
	}
	var got []string
	on(t, "", cfg, func(b clustertest.Bench) {
		var err error
		got, err = carryOut(onBench(b))
		require.NoError(t, err)
	})
	c, err := local.New(t.Context(), cfg, cluster.Choice{Server: program})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	want, err := carryOut(pair{c, func(name string) *redis.Client {
		return clustertest.Dial(t, c.Nodes[name].Address(), realcluster.Password())
	}})
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, want[i], got[i], "after\n%s", strings.Join(want[:i], "\n"))
	}
}

// needsRedis skips a test if no real server with its own clock is available.
func needsRedis(t *testing.T) {
	needs.Check(t, needs.Redis, local.Available(""))
	_, err := shim.Compiler()
	needs.Check(t, needs.Compiler, err)
	needs.PlainTemp(t)
}

func TestVirtualReplicas_RandomFaults_AsRedis(t *testing.T) {
	needsRedis(t)
	for i, setting := range []cluster.Persistence{cluster.PersistNone, cluster.PersistRDB, cluster.PersistAlways} {
		for round := range 4 {
			t.Run(fmt.Sprint(setting, " ", round), func(t *testing.T) {
				t.Parallel()
				compared(t, withReplica(keeps(setting)), "", life(rand.New(rand.NewPCG(uint64(round), uint64(i)))))
			})
		}
	}
}

// killBeforeExec kills the replica between MULTI and EXEC.
var killBeforeExec = step{"EXEC too late", func(p pair) (string, error) {
	rdb := p.connect("n1")
	defer rdb.Close()
	conn := rdb.Conn()
	defer conn.Close()
	replies := coarse(conn.Do(ctx, "MULTI"), beat) + coarse(conn.Do(ctx, "SET", "a", "1"), beat)
	if err := errors.Join(p.Node("r1").Kill(ctx), p.Sleep(ctx, 1500*time.Millisecond)); err != nil {
		return replies, err
	}
	return replies + coarse(conn.Do(ctx, "EXEC"), beat) + coarse(conn.Do(ctx, "EXEC"), beat), nil
}}

// A master with min-replicas-to-write refuses writes at once after its replica's connection ends; after a cut, once the
// last acknowledgement is older than the lag.
func TestVirtualMasters_TooFewReplicas_RefuseAsRedis(t *testing.T) {
	needsRedis(t)
	tries := say("n1", words("SET a 1"), []any{"EVAL", compareAndExpire, 1, "a", "1", longTime.Milliseconds()},
		words("GET a"), words("MULTI"), words("SET b 2"), words("EXEC"), words("MULTI"), words("GET b"), words("EXEC"))
	const soon, late = 1500 * time.Millisecond, 5 * time.Second // of a lag of 2 s
	for name, c := range map[string]struct {
		setting  cluster.Persistence
		settings map[string]string
		steps    []step
	}{
		"killed": {cluster.PersistAlways, map[string]string{"min-replicas-to-write": "1", "min-replicas-max-lag": "60"},
			[]step{settle, tries, kill("r1"), wait(soon), tries, start("r1"), settle, wait(soon), tries}},
		"cut": {cluster.PersistNone, map[string]string{"min-replicas-to-write": "1", "min-replicas-max-lag": "2"},
			[]step{settle, tries, cut, tries, wait(late), tries, heal, wait(late), tries}},
		"in a transaction": {cluster.PersistNone, map[string]string{"min-replicas-to-write": "1"},
			[]step{settle, killBeforeExec, tries}},
		"too few": {cluster.PersistNone, map[string]string{"min-replicas-to-write": "2"}, []step{settle, tries}},
		"without a lag": {cluster.PersistNone, map[string]string{"min-replicas-to-write": "2", "min-replicas-max-lag": "0"},
			[]step{settle, tries}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compared(t, withReplica(func(cfg *cluster.Config) { cfg.Persistence, cfg.Settings = c.setting, c.settings }), "",
				c.steps)
		})
	}
}
