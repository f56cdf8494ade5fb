//go:build linux

package local

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
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
		got, err := dial(t, at(l, "n1").addr).ConfigGet(t.Context(), "*").Result()
		require.NoError(t, err)
		require.Equal(t, []string{c.save, c.appendonly, c.fsync}, []string{got["save"], got["appendonly"], got["appendfsync"]},
			"persistence %q", c.persistence)
		require.Equal(t, "127.0.0.1", got["bind"])
		require.Equal(t, at(l, "n1").disk, got["dir"])
	}
}

func TestAddressOfANodeThatIsDown(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	addr := at(l, "n1").addr
	require.NoError(t, l.Node("n1").Kill(t.Context()))
	_, err := net.DialTimeout("tcp", addr, time.Second)
	require.ErrorContains(t, err, "refused")
	_, err = loopbackSocket(at(l, "n1").port.number)
	require.ErrorIs(t, err, unix.EADDRINUSE, "somebody else could take the node's port")
	require.NoError(t, l.Node("n1").Start(t.Context()))
	require.Equal(t, addr, at(l, "n1").addr)
}

func TestLook(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	n := l.Node("n1")
	db := dial(t, at(l, "n1").addr)
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

func TestStartThatFailsTellsTheServersWords(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways })
	n := l.Node("n1")
	require.NoError(t, n.Kill(t.Context()))
	manifest := filepath.Join(at(l, "n1").disk, "appendonlydir", "appendonly.aof.manifest")
	require.NoError(t, os.WriteFile(manifest, []byte("nonsense\n"), 0o600))
	err := n.Start(t.Context())
	require.ErrorContains(t, err, "start n1: its server ended with exit status 1; its last words:")
	require.ErrorContains(t, err, "manifest")
	require.ErrorIs(t, n.Kill(t.Context()), cluster.ErrDown)
}
