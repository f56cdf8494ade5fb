package realcluster

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/clustertest"
)

// silent is an address that neither accepts nor refuses a connection, as a container's that has stopped: its queue is
// full.
func silent(t *testing.T) (address string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	address = net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*syscall.SockaddrInet4).Port))
	for range 10 {
		conn, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			require.ErrorContains(t, err, "timeout")
			return address
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Fatal("its queue does not get full")
	return ""
}

func TestMove_DialPending_EndsIt(t *testing.T) {
	n, at := open(t, oneNode(), map[string]string{"n1": silent(t)}, nil)
	failed := make(chan error, 1)
	db := clustertest.Dial(t, at[c1n1], "")
	go func() { failed <- db.Ping(context.Background()).Err() }()
	time.Sleep(20 * time.Millisecond)
	require.Empty(t, failed, "the link still dials")
	n.servers["n1"].move("")
	select {
	case err := <-failed:
		require.Error(t, err)
	case <-time.After(dialTimeout / 2):
		require.Fail(t, "the client still waits for a server that has gone")
	}
}
