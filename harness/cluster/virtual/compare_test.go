package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

// onRelease lets do speak to a node of a release, in a bubble.
func onRelease(name string, do func(c cluster.Cluster, rdb *redis.Client) error) (err error) {
	maker, err := virtual.Kind.Open(ctx, cluster.Choice{Server: name}, nil)
	if err != nil {
		return err
	}
	failed := bubble.Run(func() {
		var c cluster.Cluster
		if c, err = maker.New(ctx, cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Seed: 1,
			Persistence: cluster.PersistAlways, Record: func(history.Event) {}}); err != nil {
			return
		}
		rdb := connect(c.(*virtual.Cluster), "c1", "n1")
		err = errors.Join(do(c, rdb), rdb.Close(), c.Close())
	})
	return errors.Join(failed, err)
}

// What a server answers is in the third column as redis-cli would show it.
func TestCommandsThatCompare(t *testing.T) {
	type says map[string]string // by release
	const unknown = "ERR unknown command"
	for _, c := range []struct {
		before, command string
		answers         says
		after           string // the key, if the first release that knows the command has answered
	}{
		{"SET k a PX 9000", "DELEX k IFEQ a", says{"redis-7.0": unknown, "redis-8.4": "1", "valkey-9.0": unknown}, "redis: nil"},
		{"SET k a PX 9000", "DELEX k ifeq b", says{"redis-8.4": "0"}, "a"},
		{"SET k a", "DELEX k", says{"redis-8.4": "1"}, "redis: nil"},
		{"SET k a", "DELEX k a", says{"redis-8.4": "ERR wrong number of arguments for 'delex' command"}, "a"},
		{"SET k a", "DELEX k IFNE b", says{"redis-8.4": "ERR DELEX is modelled by the virtual cluster with IFEQ alone"}, "a"},
		{"DEL k", "DELEX k IFEQ a", says{"redis-8.4": "0"}, "redis: nil"},
		{"SET k a", "DELIFEQ k a", says{"redis-7.0": unknown, "redis-8.4": unknown, "valkey-9.0": "1"}, "redis: nil"},
		{"SET k a", "DELIFEQ k b", says{"valkey-9.0": "0"}, "a"},
		{"DEL k", "DELIFEQ k b", says{"valkey-9.0": "0"}, "redis: nil"},
		{"SET k a", "DELIFEQ k", says{"valkey-9.0": "ERR wrong number of arguments for 'delifeq' command"}, "a"},
		{"SET k a", "SET k b IFEQ a PX 5000", says{"redis-7.0": "ERR syntax error", "redis-8.4": "OK", "valkey-9.0": "OK"}, "b"},
		{"SET k a", "SET k b IFEQ c", says{"redis-8.4": "redis: nil", "valkey-9.0": "redis: nil"}, "a"},
		{"DEL k", "SET k b IFEQ c GET", says{"redis-8.4": "redis: nil", "valkey-9.0": "redis: nil"}, "redis: nil"},
		{"SET k a", "SET k b IFEQ c GET", says{"redis-8.4": "a", "valkey-9.0": "a"}, "a"},
		{"SET k a", "SET k b GET IFEQ a", says{"redis-8.4": "a", "valkey-9.0": "a"}, "b"},
		{"SET k a", "SET k b IFEQ c PX -1", says{"redis-8.4": "ERR invalid expire time in set"}, "a"},
		{"SET k a", "SET k b NX IFEQ a", says{"redis-8.4": "ERR SET is modelled", "valkey-9.0": "ERR SET is modelled"}, "a"},
		{"SET k a", "SET k b IFDEQ 0123456789abcdef", says{"redis-8.4": "ERR SET is modelled"}, "a"},
	} {
		for release, want := range c.answers {
			require.NoError(t, onRelease(release, func(_ cluster.Cluster, rdb *redis.Client) error {
				reply(rdb, words(c.before))
				got := reply(rdb, words(c.command))
				if !strings.HasPrefix(got, want) {
					return fmt.Errorf("%s: %s; %s was answered %s, not %s", release, c.before, c.command, got, want)
				}
				known := !strings.HasPrefix(want, unknown) && want != "ERR syntax error"
				if left := reply(rdb, []any{"GET", "k"}); known && left != c.after {
					return fmt.Errorf("%s: %s; %s left %s, not %s", release, c.before, c.command, left, c.after)
				}
				return nil
			}))
		}
	}
}

// In a transaction they are refused, and with them all of it.
func TestWhatComparesCannotQueue(t *testing.T) {
	require.NoError(t, onRelease("redis-8.4", func(_ cluster.Cluster, rdb *redis.Client) error {
		conn := rdb.Conn()
		defer conn.Close()
		say := func(command string) string {
			v, err := conn.Do(ctx, words(command)...).Result()
			return fmt.Sprint(v, " ", err)
		}
		say("MULTI")
		require.Contains(t, say("SET k a"), "QUEUED")
		require.Contains(t, say("DELEX k IFEQ a"), "not modelled")
		require.Contains(t, say("EXEC"), "EXECABORT")
		require.Contains(t, say("EXISTS k"), "0 ")
		require.Contains(t, say("SET k a"), "OK")
		require.Contains(t, say("DELEX k IFEQ a"), "1 ", "the transaction is over")
		return nil
	}))
}

func TestReleasesTellTheirVersion(t *testing.T) {
	for release, want := range map[string]string{
		"": "redis_version:7.0.15", "redis-8.4": "redis_version:8.4.0", "valkey-9.0": "valkey_version:9.0.0",
	} {
		require.NoError(t, onRelease(release, func(c cluster.Cluster, rdb *redis.Client) error {
			require.Contains(t, rdb.Info(ctx, "server").Val(), want)
			require.Contains(t, c.Server(), "miniredis")
			require.Contains(t, c.Server(), release)
			return nil
		}))
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

// comparing draws a command that compares, often enough one that is not well formed,
// by itself or from a script.
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

// TestNodesCompareAsTheirServersDo gives the same commands to virtual nodes and to every
// real server that there is: those that LOCKPROOF_TESTS_SERVERS names, and the programs
// in PATH. Nothing of it takes long enough for an expiry to be noticed.
func TestNodesCompareAsTheirServersDo(t *testing.T) {
	found := realServers(t)
	for _, release := range virtual.ServerNames() {
		t.Run(release, func(t *testing.T) {
			real := found[release]
			var lack error
			if real == nil {
				lack = fmt.Errorf("no server with the commands of %s is there: start one, and name its address in %s", release, needs.ServersVariable)
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
	require.NoError(t, onRelease(release, func(_ cluster.Cluster, rdb *redis.Client) error {
		for i, c := range commands {
			if got := answer(rdb, c); got != want[i] {
				return fmt.Errorf("%v: %s answers %q, the virtual node %q, after %v", c, release, want[i], got, commands[max(0, i-8):i])
			}
		}
		return nil
	}))
}

// answer is a reply without the little time that has passed.
func answer(rdb *redis.Client, c []any) string {
	if c[0] == "TTL" {
		left, err := rdb.Do(ctx, c...).Int64()
		return fmt.Sprint((left+50)/100, err)
	}
	// miniredis has the words of Redis 6 for a bad expiry.
	return strings.ReplaceAll(reply(rdb, c), "expire time in 'set' command", "expire time in set")
}

// realServers gives a client for each release that a real server has.
func realServers(t *testing.T) map[string]*redis.Client {
	found := map[string]*redis.Client{}
	add := func(network, addr string) {
		rdb := redis.NewClient(&redis.Options{Network: network, Addr: addr, Protocol: 2, MaxRetries: -1, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
		t.Cleanup(func() { _ = rdb.Close() })
		var info string
		require.Eventually(t, func() bool {
			var err error
			info, err = rdb.Info(context.Background(), "server").Result()
			return err == nil
		}, time.Minute, 10*time.Millisecond, "%s does not answer", addr)
		found[releaseOf(info)] = rdb
	}
	for _, program := range []string{"redis-server", "valkey-server"} {
		path, err := exec.LookPath(program)
		if err != nil {
			continue
		}
		dir := tempDir(t)
		socket := filepath.Join(dir, "socket")
		server := exec.Command(path, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "")
		require.NoError(t, server.Start())
		t.Cleanup(func() {
			_ = server.Process.Kill()
			_ = server.Wait()
		})
		add("unix", socket)
	}
	for _, addr := range needs.ServerAddresses() {
		_, _, err := net.SplitHostPort(addr)
		require.NoError(t, err, needs.ServersVariable)
		add("tcp", addr)
	}
	return found
}

// releaseOf is the release with the same commands as a server's, "" for none.
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
