//go:build linux

package local

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"example.org/lockproof/harness/cluster"
)

func TestAddress_NodeDown_StaysReserved(t *testing.T) {
	t.Parallel()
	l := start(t, 1, nil)
	addr := hostOf(l, "n1").addr
	require.NoError(t, l.Node("n1").Kill(t.Context()))
	_, err := net.DialTimeout("tcp", addr, time.Second)
	require.ErrorContains(t, err, "refused")
	_, err = loopbackSocket(hostOf(l, "n1").port.number)
	require.ErrorIs(t, err, unix.EADDRINUSE, "somebody else could take the node's port")
	require.NoError(t, l.Node("n1").Start(t.Context()))
	require.Equal(t, addr, hostOf(l, "n1").addr)
}

func TestStart_Fails_ErrorHasTheServersLog(t *testing.T) {
	t.Parallel()
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways })
	n := l.Node("n1")
	require.NoError(t, n.Kill(t.Context()))
	manifest := filepath.Join(hostOf(l, "n1").machine.Disk(), "appendonlydir", "appendonly.aof.manifest")
	require.NoError(t, os.WriteFile(manifest, []byte("nonsense\n"), 0o600))
	err := n.Start(t.Context())
	require.ErrorContains(t, err, "start n1: its server ended with exit status 1; its last words:")
	require.ErrorContains(t, err, "manifest")
	require.ErrorIs(t, n.Kill(t.Context()), cluster.ErrDown)
}
