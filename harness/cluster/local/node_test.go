//go:build unix

package local

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/process"
	"lockproof/harness/history"
)

func TestWhatANodeRemembers(t *testing.T) {
	t.Parallel()
	kill, shutdown := cluster.Node.Kill, cluster.Node.Shutdown
	for _, c := range []struct {
		persistence cluster.Persistence
		down        string
		by          func(cluster.Node, context.Context) error
		remembers   bool
	}{
		{cluster.PersistNone, "kill", kill, false},
		{cluster.PersistNone, "shutdown", shutdown, false},
		{cluster.PersistRDB, "kill", kill, false},
		{cluster.PersistRDB, "shutdown", shutdown, true},
		{cluster.PersistNo, "kill", kill, true},
		{cluster.PersistEverysec, "kill", kill, true},
		{cluster.PersistAlways, "kill", kill, true},
		{cluster.PersistAlways, "shutdown", shutdown, true},
	} {
		t.Run(string(c.persistence)+" "+c.down, func(t *testing.T) {
			l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = c.persistence })
			n := l.Node("n1")
			db := dial(t, l.nodes["n1"].addr)
			require.NoError(t, db.Set(t.Context(), "k1", "token", time.Minute).Err())
			before, err := n.Look(t.Context())
			require.NoError(t, err)
			require.Equal(t, "token", before.Keys["k1"].Token)
			old := l.nodes["n1"].proc.Load().Identity()

			require.NoError(t, c.by(n, t.Context()))
			require.False(t, old.Alive(), "the process lives on")
			down, err := n.Look(t.Context())
			require.NoError(t, err)
			require.Equal(t, history.Node{}, down)

			require.NoError(t, n.Start(t.Context()))
			after, err := n.Look(t.Context())
			require.NoError(t, err)
			require.True(t, after.Up)
			require.NotEqual(t, before.RunID, after.RunID)
			if c.remembers {
				require.Equal(t, "token", after.Keys["k1"].Token)
				require.LessOrEqual(t, after.Keys["k1"].TTL, before.Keys["k1"].TTL)
				require.Positive(t, after.Keys["k1"].TTL)
			} else {
				require.Empty(t, after.Keys)
			}
		})
	}
}

// TestSettings asks real servers whether they took the settings.
func TestSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		persistence             cluster.Persistence
		save, appendonly, fsync string
	}{
		{"", "", "no", "everysec"},
		{cluster.PersistNone, "", "no", "everysec"},
		{cluster.PersistRDB, "3600 1 300 100 60 10000", "no", "everysec"},
		{cluster.PersistNo, "", "yes", "no"},
		{cluster.PersistEverysec, "", "yes", "everysec"},
		{cluster.PersistAlways, "", "yes", "always"},
	} {
		l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = c.persistence })
		got, err := dial(t, l.nodes["n1"].addr).ConfigGet(t.Context(), "*").Result()
		require.NoError(t, err)
		require.Equal(t, []string{c.save, c.appendonly, c.fsync}, []string{got["save"], got["appendonly"], got["appendfsync"]},
			"persistence %q", c.persistence)
		require.Equal(t, "127.0.0.1", got["bind"])
		require.Equal(t, l.nodes["n1"].disk, got["dir"])
	}
}

func TestPauseStopsANodeUntilResume(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	n, proc := l.Node("n1"), l.nodes["n1"].proc.Load()
	db := dial(t, l.nodes["n1"].addr)
	require.NoError(t, db.Set(t.Context(), "k1", "token", time.Minute).Err())

	require.NoError(t, n.Pause(t.Context()))
	states, err := process.ThreadStates(proc.Identity().PID)
	require.NoError(t, err)
	require.Regexp(t, "^T+$", states)
	require.ErrorIs(t, db.Get(within(t, 50*time.Millisecond), "k1").Err(), os.ErrDeadlineExceeded)
	seen, err := n.Look(t.Context())
	require.NoError(t, err)
	require.False(t, seen.Up)
	for what, do := range map[string]func(context.Context) error{"shutdown": n.Shutdown, "flush": n.Flush} {
		require.EqualError(t, do(t.Context()), what+" n1: it is paused and cannot obey: resume it first")
	}
	require.NoError(t, n.Pause(t.Context()), "a second pause changes nothing")

	require.NoError(t, n.Resume(t.Context()))
	require.Equal(t, "token", db.Get(t.Context(), "k1").Val())
	require.NoError(t, n.Resume(t.Context()), "a second resume changes nothing")

	require.NoError(t, n.Pause(t.Context()))
	require.NoError(t, n.Kill(t.Context()), "a paused process can be killed")
	require.False(t, proc.Identity().Alive())
}

func TestFaultsOnANodeThatIsDown(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	n := l.Node("n1")
	require.ErrorContains(t, n.Start(t.Context()), "start n1: it is running already")
	require.NoError(t, n.Kill(t.Context()))
	for what, do := range map[string]func(context.Context) error{
		"kill": n.Kill, "shutdown": n.Shutdown, "pause": n.Pause, "resume": n.Resume, "flush": n.Flush,
		"cut the power of": func(ctx context.Context) error { _, err := n.PowerLoss(ctx); return err },
	} {
		err := do(t.Context())
		require.ErrorIs(t, err, cluster.ErrDown)
		require.EqualError(t, err, what+" n1: the node is down")
	}
}

func TestAddressOfANodeThatIsDown(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	addr := l.nodes["n1"].addr
	require.NoError(t, l.Node("n1").Kill(t.Context()))
	_, err := net.DialTimeout("tcp", addr, time.Second)
	require.ErrorContains(t, err, "refused")
	if l.nodes["n1"].port.socket >= 0 {
		socket, err := tcpSocket()
		require.NoError(t, err)
		defer unix.Close(socket)
		err = unix.Bind(socket, &unix.SockaddrInet4{Port: l.nodes["n1"].port.number, Addr: [4]byte{127, 0, 0, 1}})
		require.ErrorIs(t, err, unix.EADDRINUSE, "somebody else could take the node's port")
	}
	require.NoError(t, l.Node("n1").Start(t.Context()))
	require.Equal(t, addr, l.nodes["n1"].addr)
}

func TestLook(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	n := l.Node("n1")
	db := dial(t, l.nodes["n1"].addr)
	pipe := db.Pipeline()
	pipe.Set(t.Context(), "short", "a", time.Second)
	pipe.Set(t.Context(), "endless", "b", 0)
	pipe.Set(t.Context(), "fence:short", 7, 0)
	pipe.HSet(t.Context(), "hash", "f", "v")
	pipe.PExpire(t.Context(), "hash", time.Minute)
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)

	seen, err := n.Look(t.Context())
	require.NoError(t, err)
	require.True(t, seen.Up)
	require.Len(t, seen.RunID, 40)
	require.Len(t, seen.Keys, 3, "a fencing counter is no lock key")
	require.Equal(t, "a", seen.Keys["short"].Token)
	require.InDelta(t, time.Second, seen.Keys["short"].TTL, float64(500*time.Millisecond))
	require.Equal(t, history.KeyState{Token: "b", TTL: -1}, seen.Keys["endless"])
	require.Empty(t, seen.Keys["hash"].Token)
	require.Positive(t, seen.Keys["hash"].TTL)

	require.NoError(t, n.Flush(t.Context()))
	seen, err = n.Look(t.Context())
	require.NoError(t, err)
	require.True(t, seen.Up)
	require.Empty(t, seen.Keys)
	require.ErrorIs(t, db.Get(t.Context(), "endless").Err(), redis.Nil)
}

func TestClockOfANode(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	before := l.Now()
	at, err := l.Node("n1").Clock(t.Context())
	require.NoError(t, err)
	// TIME is in microseconds, and the host's wall clock may be slewed.
	const slack = int64(2 * time.Millisecond)
	require.GreaterOrEqual(t, at, before-slack)
	require.LessOrEqual(t, at, l.Now()+slack)
}

func TestStartThatFailsTellsTheServersWords(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways })
	n := l.nodes["n1"]
	require.NoError(t, n.Kill(t.Context()))
	manifest := filepath.Join(n.disk, "appendonlydir", "appendonly.aof.manifest")
	require.NoError(t, os.WriteFile(manifest, []byte("nonsense\n"), 0o600))
	err := n.Start(t.Context())
	require.ErrorContains(t, err, "start n1: redis-server ended with exit status 1; its last words:")
	require.ErrorContains(t, err, "manifest")
	require.ErrorIs(t, n.Kill(t.Context()), cluster.ErrDown)
}
