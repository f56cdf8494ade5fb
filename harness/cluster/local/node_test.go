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
	"lockproof/harness/history"
)

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
