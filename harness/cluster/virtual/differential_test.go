package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/shim"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// The differential test gives a virtual node and a real redis-server the same
// commands at the same times, through the same restarts, and compares every
// reply. The real one runs under the preload shim, which lets its clock stand
// still but for the steps of the plan: however busy the machine is, nothing is
// late. All times of a plan are multiples of beat, and every expiry falls in the
// middle between two of them, which leaves room for what little goes by.
const (
	beat   = 40 * time.Millisecond
	outage = 10 * beat // from the end of a server to the next command
	rounds = 8         // plans for each persistence setting
)

// step is one moment of a plan: an end of the server, or commands.
type step struct {
	at       time.Duration
	stop     string // "", kill or shutdown; it is started again at once
	commands [][]any
}

const (
	compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`
	compareAndExpire = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) else return 0 end`
)

// plan draws the steps before any is made, so that both sides get the same.
func plan(r *rand.Rand) []step {
	var steps []step
	at := beat
	for range 16 {
		s := step{at: at}
		for range 1 + r.IntN(12) {
			s.commands = append(s.commands, command(r))
		}
		steps = append(steps, s)
		at += beat * time.Duration(1+r.IntN(3))
		if r.IntN(4) == 0 {
			steps = append(steps, step{at: at, stop: []string{"kill", "shutdown"}[r.IntN(2)]})
			at += outage
		}
	}
	last := step{at: at, commands: [][]any{{"KEYS", "*"}}}
	for _, key := range keys {
		last.commands = append(last.commands, []any{"GET", key}, []any{"PTTL", key})
	}
	return append(steps, last)
}

var keys = []string{"a", "b", "fence:a", "counter"}

// command draws one command. Of expiries, half come soon and half outlive an
// outage.
func command(r *rand.Rand) []any {
	key, token := keys[r.IntN(len(keys))], fmt.Sprint("token", r.IntN(3))
	ttl := (time.Duration(r.IntN(4))*beat + beat/2).Milliseconds()
	if r.IntN(2) == 0 {
		ttl += (outage + 5*beat).Milliseconds()
	}
	all := [][]any{
		{"SET", key, token, "NX", "PX", ttl},
		{"SET", key, token, "NX", "PX", ttl},
		{"SET", key, token, "NX", "GET", "PX", ttl},
		{"SET", key, token, "PX", ttl},
		{"SET", key, token, "XX", "KEEPTTL"},
		{"SET", key, r.IntN(100)},
		{"GET", key},
		{"PTTL", key},
		{"EXISTS", key, "a"},
		{"TYPE", key},
		{"EVAL", compareAndDelete, 1, key, token},
		{"EVAL", compareAndExpire, 1, key, token, ttl},
		{"EVALSHA", redis.NewScript(compareAndDelete).Hash(), 1, key, token},
		{"EVALSHA", redis.NewScript(compareAndExpire).Hash(), 1, key, token, ttl},
		{"DEL", key},
		{"GETDEL", key},
		{"INCR", key},
		{"INCR", "counter"},
		{"SETNX", key, token},
		{"PEXPIRE", key, ttl},
		{"PEXPIRE", key, ttl, "GT"},
		{"PEXPIRE", key, -1},
		{"PERSIST", key},
		{"RENAME", "a", "b"},
		{"MSET", "a", token, "b", token},
		{"KEYS", "*"},
	}
	if r.IntN(40) == 0 {
		return []any{"FLUSHALL"}
	}
	return all[r.IntN(len(all))]
}

// side is one of the two servers.
type side interface {
	sleepUntil(time.Duration) error
	stop(how string) error // and start again
	client() *redis.Client
}

// follow carries out a plan and gives the replies, one text each.
func follow(s side, steps []step) (replies []string, err error) {
	for _, step := range steps {
		if err := s.sleepUntil(step.at); err != nil {
			return nil, err
		}
		if step.stop != "" {
			if err := s.stop(step.stop); err != nil {
				return nil, err
			}
			replies = append(replies, step.stop)
		}
		for _, c := range step.commands {
			replies = append(replies, reply(s.client(), c))
		}
	}
	return replies, nil
}

// reply gives the reply to a command as a text. The time that a key has left is
// given in beats: no expiry is near a whole one.
func reply(rdb *redis.Client, c []any) string {
	v, err := rdb.Do(context.Background(), c...).Result()
	if left, ok := v.(int64); ok && c[0] == "PTTL" && left >= 0 {
		v = fmt.Sprint(time.Duration(left)*time.Millisecond/beat, " beats")
	}
	if list, ok := v.([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	}
	if err != nil {
		v = err
	}
	return fmt.Sprint(v)
}

func TestVirtualNodesAnswerAsRedisDoes(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	needs.Check(t, needs.Redis, err)
	_, err = shim.Compiler()
	needs.Check(t, needs.Compiler, err)
	needs.PlainTemp(t)
	library, err := shim.Build(t.TempDir())
	require.NoError(t, err)
	for _, setting := range cluster.Persistences {
		t.Run(string(setting), func(t *testing.T) {
			t.Parallel()
			dirs := filepath.Join(tempDir(t), "r")
			for round := range rounds {
				s := &process{program: program, library: library, dir: fmt.Sprint(dirs, round), setting: setting}
				require.NoError(t, compare(s, uint64(round)), "round %d", round)
			}
		})
	}
}

// compare follows a plan on both sides and says where the replies differ.
func compare(real *process, seed uint64) error {
	steps := plan(rand.New(rand.NewPCG(seed, uint64(len(real.setting)))))
	want, err := real.follow(steps)
	if err != nil {
		return err
	}
	got, err := onNode(real.setting, steps)
	if err != nil {
		return err
	}
	if d := difference(steps, want, got); d != "" {
		return errors.New(d)
	}
	return nil
}

// difference tells the plan up to the first reply that differs.
func difference(steps []step, want, got []string) string {
	var told strings.Builder
	for _, s := range steps {
		for i := range max(1, len(s.commands)) {
			what := s.stop
			if what == "" {
				what = fmt.Sprint(s.commands[i])
			}
			fmt.Fprintf(&told, "\n%v: %s -> %s", s.at, what, want[0])
			if want[0] != got[0] {
				return fmt.Sprintf("%s\nbut the virtual node answered %s", &told, got[0])
			}
			want, got = want[1:], got[1:]
		}
	}
	return ""
}

// onNode follows a plan on a virtual node.
func onNode(setting cluster.Persistence, steps []step) (replies []string, err error) {
	failed := bubble.Run(func() {
		var c *virtual.Cluster
		if c, err = virtual.New(cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Persistence: setting, Seed: 1,
			Delay: 10 * time.Microsecond, Record: func(history.Event) {}}); err != nil {
			return
		}
		s := &node{c: c, n: c.Node("n1"), rdb: connect(c, "c1", "n1")}
		replies, err = follow(s, steps)
		err = errors.Join(err, s.rdb.Close(), c.Close())
	})
	return replies, errors.Join(failed, err)
}

// node is the virtual side.
type node struct {
	c   *virtual.Cluster
	n   cluster.Node
	rdb *redis.Client
}

func (s *node) client() *redis.Client { return s.rdb }
func (s *node) sleepUntil(at time.Duration) error {
	time.Sleep(at - time.Duration(s.c.Now()))
	return nil
}
func (s *node) stop(how string) error {
	end := s.n.Kill
	if how == "shutdown" {
		end = s.n.Shutdown
	}
	return errors.Join(end(ctx), s.n.Start(ctx))
}

// tempDir has a short name, as a socket must have.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "lockproof-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// process is the real side. It listens on a Unix socket only.
type process struct {
	program, library, dir string
	setting               cluster.Persistence
	control               *shim.Control // of its clock
	now                   time.Duration // what the clock has moved, by steps
	cmd                   *exec.Cmd
	rdb                   *redis.Client
}

// follow follows a plan on a redis-server.
func (s *process) follow(steps []step) (replies []string, err error) {
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return nil, err
	}
	if s.control, err = shim.Create(filepath.Join(s.dir, "control")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.control.Close()) }()
	const still = 1e-9 // a nanosecond in a second
	if err := errors.Join(s.control.SetClock(0, still), s.start()); err != nil {
		return nil, err
	}
	replies, err = follow(s, steps)
	return replies, errors.Join(err, s.end())
}

func (s *process) client() *redis.Client { return s.rdb }

func (s *process) sleepUntil(at time.Duration) error {
	jump := at - s.now
	s.now = at
	return s.control.SetClock(jump, 0)
}

// start starts the server and waits until it answers.
func (s *process) start() error {
	socket := filepath.Join(s.dir, "socket")
	save, appendonly, appendfsync := "", "no", "no"
	switch s.setting {
	case cluster.PersistNone:
	case cluster.PersistRDB:
		save = "3600 1 300 100 60 10000"
	default:
		appendonly, appendfsync = "yes", strings.TrimPrefix(string(s.setting), "aof-")
	}
	s.cmd = exec.Command(s.program, "--port", "0", "--unixsocket", socket, "--dir", s.dir, "--logfile", "log",
		"--save", save, "--appendonly", appendonly, "--appendfsync", appendfsync)
	s.cmd.Env = append(os.Environ(), s.control.Environment(s.library)...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.rdb = redis.NewClient(&redis.Options{Network: "unix", Addr: socket, Protocol: 2, MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
	err := s.await(func() bool { return s.rdb.Ping(ctx).Err() == nil })
	if err != nil {
		return errors.Join(fmt.Errorf("redis-server does not answer: %w", err), s.end())
	}
	return nil
}

// await waits for what the server does by itself.
func (s *process) await(done func() bool) error {
	const limit = time.Minute
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if done() {
			return nil
		}
	}
	return fmt.Errorf("not within %v", limit)
}

// written waits until what the server has answered is written to its files:
// during an fsync in the background it may put writes off.
func (s *process) written() error {
	const put = "aof_buffer_length:"
	err := s.await(func() bool {
		info, err := s.rdb.Info(ctx, "persistence").Result()
		return err == nil && (!strings.Contains(info, put) || strings.Contains(info, put+"0\r\n"))
	})
	if err != nil {
		return fmt.Errorf("redis-server does not write its AOF: %w", err)
	}
	return nil
}

func (s *process) stop(how string) error {
	if how == "shutdown" {
		s.rdb.Shutdown(ctx)
		err := errors.Join(s.cmd.Wait(), s.rdb.Close())
		if err != nil {
			return fmt.Errorf("redis-server did not shut down well: %w", err)
		}
	} else if err := errors.Join(s.written(), s.end()); err != nil {
		return err
	}
	return s.start()
}

// end kills the server.
func (s *process) end() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	s.cmd.Wait() // says that it was killed
	return s.rdb.Close()
}
