package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/internal/needs"
)

// The third column has the replies as redis-cli shows them.
func TestCompareCommands_ByRelease(t *testing.T) {
	const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	type want map[string]string // by release
	const unknown = "ERR unknown command"
	for _, c := range []struct {
		before, command string
		answers         want
		after           string // the key's value after a known command
	}{
		{"SET k a PX 9000", "DELEX k IFEQ a", want{"redis-7.0": unknown, "redis-8.4": "1", "valkey-9.0": unknown},
			"redis: nil"},
		{"SET k a PX 9000", "DELEX k ifeq b", want{"redis-8.4": "0"}, "a"},
		{"SET k a", "DELEX k", want{"redis-8.4": "1"}, "redis: nil"},
		{"SET k a", "DELEX k a", want{"redis-8.4": "ERR wrong number of arguments for 'delex' command"}, "a"},
		{"SET k a", "DELEX k IFNE b", want{"redis-8.4": "ERR DELEX is modelled by the virtual cluster with IFEQ alone"}, "a"},
		{"DEL k", "DELEX k IFEQ a", want{"redis-8.4": "0"}, "redis: nil"},
		{"SET k a", "DELIFEQ k a", want{"redis-7.0": unknown, "redis-8.4": unknown, "valkey-9.0": "1"}, "redis: nil"},
		{"SET k a", "DELIFEQ k b", want{"valkey-9.0": "0"}, "a"},
		{"DEL k", "DELIFEQ k b", want{"valkey-9.0": "0"}, "redis: nil"},
		{"SET k a", "DELIFEQ k", want{"valkey-9.0": "ERR wrong number of arguments for 'delifeq' command"}, "a"},
		{"SET k a", "SET k b IFEQ a PX 5000", want{"redis-7.0": "ERR syntax error", "redis-8.4": "OK", "valkey-9.0": "OK"},
			"b"},
		{"SET k a", "SET k b IFEQ c", want{"redis-8.4": "redis: nil", "valkey-9.0": "redis: nil"}, "a"},
		{"DEL k", "SET k b IFEQ c GET", want{"redis-8.4": "redis: nil", "valkey-9.0": "redis: nil"}, "redis: nil"},
		{"SET k a", "SET k b IFEQ c GET", want{"redis-8.4": "a", "valkey-9.0": "a"}, "a"},
		{"SET k a", "SET k b GET IFEQ a", want{"redis-8.4": "a", "valkey-9.0": "a"}, "b"},
		{"SET k a", "SET k b IFEQ c PX -1", want{"redis-8.4": "ERR invalid expire time in set"}, "a"},
		{"SET k a", "SET k b NX IFEQ a", want{"redis-8.4": "ERR SET is modelled", "valkey-9.0": "ERR SET is modelled"}, "a"},
		{"LPUSH k a", "DELEX k IFEQ a", want{"redis-8.4": "WRONGTYPE"}, wrongType},
		{"LPUSH k a", "DELIFEQ k a", want{"valkey-9.0": "WRONGTYPE"}, wrongType},
		{"LPUSH k a", "SET k b IFEQ a", want{"redis-8.4": "WRONGTYPE", "valkey-9.0": "WRONGTYPE"}, wrongType},
		{"SET k a", "SET k b IFDEQ 0123456789abcdef", want{"redis-8.4": "ERR SET is modelled"}, "a"},
	} {
		for release, want := range c.answers {
			on(t, release, clustertest.Config(1, nil), func(b clustertest.Bench) {
				rdb := b.Over("c1", "n1")
				reply(rdb, words(c.before))
				got := reply(rdb, words(c.command))
				require.True(t, strings.HasPrefix(got, want), "%s: %s; %s was answered %s, not %s", release, c.before, c.command,
					got, want)
				if !strings.HasPrefix(want, unknown) && want != "ERR syntax error" {
					require.Equal(t, c.after, reply(rdb, []any{"GET", "k"}), "%s: %s; %s", release, c.before, c.command)
				}
			})
		}
	}
}

// Its own errors abort a transaction, too, not only miniredis's; then the transaction is over.
func TestTransaction_UnmodelledCommand_Aborts(t *testing.T) {
	for release, c := range map[string]struct{ refused, then, answer string }{
		"redis-8.4": {"DELEX k IFEQ a", "DELEX k IFEQ a", "1 "},
		"redis-7.0": {"XADD x * f v", "EXISTS k", "1 "},
	} {
		on(t, release, clustertest.Config(1, nil), func(b clustertest.Bench) {
			conn := b.Over("c1", "n1").Conn()
			defer conn.Close()
			for _, c := range [][2]string{{"MULTI", "OK"}, {"SET k a", "QUEUED"}, {c.refused, "not modelled"},
				{"EXEC", "EXECABORT"}, {"EXISTS k", "0 "},
				{"MULTI", "OK"}, {"SET k a", "QUEUED"}, {"MULTI", "nested"}, {"EXEC", "[OK]"}, {c.then, c.answer}} {
				v, err := conn.Do(ctx, words(c[0])...).Result()
				require.Contains(t, fmt.Sprint(v, " ", err), c[1], release)
			}
		})
	}
}

func TestReleases_InfoHasTheirVersion(t *testing.T) {
	for release, want := range map[string]string{
		"": "redis_version:7.0.15", "redis-8.4": "redis_version:8.4.0", "valkey-9.0": "valkey_version:9.0.0",
	} {
		on(t, release, clustertest.Config(1, nil), func(b clustertest.Bench) {
			info := b.Over("c1", "n1").Info(ctx, "server").Val()
			require.Contains(t, info, want)
			require.Contains(t, info, "run_id:"+clustertest.Look(t, b.Node("n1")).RunID)
			require.Contains(t, b.Server(), "miniredis")
			require.Contains(t, b.Server(), release)
		})
	}
	_, err := virtual.Kind.Open(ctx, cluster.Choice{Server: "redis-9"}, nil)
	require.ErrorContains(t, err, "there are redis-7.0, redis-8.4, valkey-9.0")
}

func words(command string) []any {
	var all []any
	for word := range strings.FieldsSeq(command) {
		all = append(all, word)
	}
	return all
}

// comparing draws a comparing command, sometimes a malformed one, alone or in a script.
func comparing(r *rand.Rand, key func(string) string) []any {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	k, value := key(pick("a", "b", "c")), func() string { return pick("x", "y", "z", "") }
	var c []any
	switch r.IntN(10) {
	case 0, 1:
		c = []any{"DELEX", k, pick("IFEQ", "ifeq"), value()}
	case 2, 3:
		c = []any{"DELIFEQ", k, value()}
	case 4:
		c = []any{pick("DELEX", "DELIFEQ"), k}
	case 5:
		c = []any{"SET", k, value(), "PX", 100_000}
	case 6:
		c = []any{"GET", k}
	case 7:
		c = []any{"TTL", k}
	default:
		c = []any{"SET", k, value(), pick("IFEQ", "ifeq"), value()}
		if r.IntN(2) == 0 {
			c = append(c, "GET")
		}
		c = append(c, [][]any{nil, {"PX", 200_000}, {"EX", 300}, {"KEEPTTL"}, {"PX", 0}, {"PX"}}[r.IntN(6)]...)
	}
	if r.IntN(20) == 0 {
		c = append(c, "x")
	}
	return c
}

// The real servers are those in LOCKPROOF_TESTS_SERVERS and the programs in PATH. The test is too short for expiries to
// matter.
func TestCompareCommands_AsRealServers(t *testing.T) {
	found := realServers(t)
	for _, release := range virtual.ServerNames() {
		t.Run(release, func(t *testing.T) {
			real := found[release]
			var lack error
			if real == nil {
				lack = fmt.Errorf("no server with the commands of %s is there: start one, and name its address in %s", release,
					needs.ServersVariable)
			}
			needs.Check(t, needs.Servers, lack)
			prefix := "lockproof-test:" + strconv.Itoa(time.Now().Nanosecond()) + ":"
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 0))
				var commands [][]any
				for range 100 {
					commands = append(commands, comparing(r, func(k string) string { return prefix + k }))
				}
				compareWith(t, release, real, commands)
				require.NoError(t, real.Del(ctx, prefix+"a", prefix+"b", prefix+"c").Err())
			}
		})
	}
}

func compareWith(t *testing.T, release string, real *redis.Client, commands [][]any) {
	var want []string
	for _, c := range commands {
		want = append(want, answer(real, c))
	}
	on(t, release, clustertest.Config(1, nil), func(b clustertest.Bench) {
		rdb := b.Over("c1", "n1")
		for i, c := range commands {
			require.Equal(t, want[i], answer(rdb, c), "%v after %v", c, commands[max(0, i-8):i])
		}
	})
}

func reply(rdb *redis.Client, c []any) string { return coarse(rdb.Do(ctx, c...), beat) }

// answer is a reply whose TTLs are rounded, as some time has passed.
func answer(rdb *redis.Client, c []any) string {
	if c[0] == "TTL" {
		left, err := rdb.Do(ctx, c...).Int64()
		return fmt.Sprint((left+50)/100, err)
	}
	// miniredis has Redis 6's text for an invalid expiry.
	return strings.ReplaceAll(reply(rdb, c), "expire time in 'set' command", "expire time in set")
}

// realServers returns a client of a real server for each available release.
func realServers(t *testing.T) map[string]*redis.Client {
	found := map[string]*redis.Client{}
	add := func(rdb *redis.Client) { found[releaseOf(rdb.Info(ctx, "server").Val())] = rdb }
	for _, program := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(program); err == nil {
			add(realServer(t, path))
		}
	}
	for _, addr := range needs.ServerAddresses() {
		_, _, err := net.SplitHostPort(addr)
		require.NoError(t, err, needs.ServersVariable)
		add(answering(t, "tcp", addr))
	}
	return found
}

// realServer starts a server that listens only on a Unix socket.
func realServer(t *testing.T, program string) *redis.Client {
	dir := tempDir(t)
	socket := filepath.Join(dir, "socket")
	server := exec.Command(program, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "")
	require.NoError(t, server.Start())
	t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
	return answering(t, "unix", socket)
}

// realRedis starts the redis-server in PATH.
func realRedis(t *testing.T) *redis.Client {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	needs.Check(t, needs.Redis, err)
	return realServer(t, program)
}

// answering returns a client of a server once the server answers.
func answering(t *testing.T, network, addr string) *redis.Client {
	rdb := clustertest.Client(&redis.Options{Network: network, Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	require.Eventually(t, func() bool { return rdb.Ping(ctx).Err() == nil }, time.Minute, 10*time.Millisecond,
		"%s does not answer", addr)
	return rdb
}

// releaseOf is the release with the server's commands, "" for none.
func releaseOf(info string) string {
	product, version := "redis", ""
	for line := range strings.Lines(info) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "redis_version":
			version = value
		case "valkey_version":
			product, version = "valkey", value
		}
	}
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor)
	switch later := major*100 + minor; {
	case product == "redis" && later >= 804:
		return "redis-8.4"
	case product == "redis" && later >= 700:
		return "redis-7.0"
	case product == "valkey" && later >= 900:
		return "valkey-9.0"
	}
	return ""
}

// The differential test sends the same commands to a virtual node and a real redis-server, at the same times and
// through the same restarts, and compares every reply. The preload shim stops the real server's clock between the steps
// of the plan, so that no command is late on a busy machine. All times of a plan are multiples of beat, and every
// expiry is halfway between two of them, which tolerates small delays.
const (
	beat   = 40 * time.Millisecond
	outage = 10 * beat // from the end of a server to the next command
	rounds = 8         // plans for each persistence setting
)

// plan draws all steps in advance, so that both sides get the same: up to most commands, then an interval.
func plan(r *rand.Rand, most int, command func(*rand.Rand) []any,
	show func(*redis.Cmd, time.Duration) string) []step {
	steps := []step{act("stop the clock", func(p pair) error {
		const still = 1e-9 // a nanosecond in a second
		if _, real := p.Node("n1").(cluster.Server); real {
			return p.Node("n1").SetClock(ctx, 0, still)
		}
		return nil
	})}
	at := time.Duration(0)
	moment := func(since time.Duration) {
		at += since
		steps = append(steps, until(at, since))
	}
	moment(beat)
	for range 16 {
		var commands [][]any
		for range 1 + r.IntN(most) {
			commands = append(commands, command(r))
		}
		steps = append(steps, sayAs(show, "n1", commands))
		moment(beat * time.Duration(1+r.IntN(3)))
		if r.IntN(4) == 0 {
			steps = append(steps, []func(string) step{kill, shutdown}[r.IntN(2)]("n1"), start("n1"))
			moment(outage)
		}
	}
	return append(steps, say("n1", []any{"KEYS", "*"}), everything("n1"))
}

// until waits in virtual time, or advances a real server's stopped clock.
func until(at, since time.Duration) step {
	return act("at "+at.String(), func(p pair) error {
		if _, real := p.Node("n1").(cluster.Server); real {
			return p.Node("n1").SetClock(ctx, since, 0)
		}
		return p.Sleep(ctx, at-time.Duration(p.Now()))
	})
}

// TestVirtualNodes_RandomCommandsAndRestarts_AsRedis runs each persistence setting through kills and restarts.
func TestVirtualNodes_RandomCommandsAndRestarts_AsRedis(t *testing.T) {
	needsRedis(t)
	for name, c := range map[string]struct {
		most    int
		command func(*rand.Rand) []any
		show    func(*redis.Cmd, time.Duration) string
	}{
		"strings":    {12, func(r *rand.Rand) []any { return draw(r, plain) }, coarse},
		"every type": {60, typedCommand, kindOfError},
	} {
		for _, setting := range cluster.Persistences {
			t.Run(name+" "+string(setting), func(t *testing.T) {
				t.Parallel()
				for round := range uint64(rounds) {
					cfg := clustertest.Config(1, func(cfg *cluster.Config) {
						cfg.Persistence, cfg.Delay = setting, 10*time.Microsecond
					})
					r := rand.New(rand.NewPCG(round, uint64(len(setting))))
					compared(t, cfg, "", plan(r, c.most, c.command, c.show))
				}
			})
		}
	}
}

// tempDir has a short name, which a socket needs.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "lockproof-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}
