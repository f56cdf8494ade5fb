package redlock

import (
	"context"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/internal/needs"
)

// What only a real server can show: it knows the commands and tells its run id.

func TestOnRealServers(t *testing.T) {
	nodes := realServers(t, 3)
	patient := WithNodeTimeout(2 * time.Second) // the machine may be busy
	r, err := New(nodes, patient)
	require.NoError(t, err)
	l, err := r.TryAcquire(t.Context(), key, 10*time.Second)
	require.NoError(t, err)
	require.NoError(t, l.Extend(t.Context()))
	_, err = r.TryAcquire(t.Context(), key, 10*time.Second)
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, l.Release(t.Context()))
	require.NoError(t, r.Close())
	for _, n := range r.nodes {
		require.True(t, n.identified.Load())
		require.Zero(t, n.client.Exists(t.Context(), key).Val())
	}
	require.Len(t, r.servers, 3)
}

func TestRealServerUnderTwoNames(t *testing.T) {
	nodes := realServers(t, 1)
	_, port, err := net.SplitHostPort(nodes[0].(*redis.Client).Options().Addr)
	require.NoError(t, err)
	again := redis.NewClient(&redis.Options{Addr: net.JoinHostPort("localhost", port)})
	defer again.Close()
	r, err := New([]redis.UniversalClient{nodes[0], again}, WithNodeTimeout(2*time.Second))
	require.NoError(t, err, "the addresses differ")
	_, err = r.Acquire(t.Context(), key, 10*time.Second)
	require.ErrorIs(t, err, ErrDuplicateNode)
	require.NoError(t, r.Close())
}

// realServers starts n servers for the length of the test.
func realServers(t testing.TB, n int) []redis.UniversalClient {
	path, err := exec.LookPath("redis-server")
	needs.Check(t, needs.Redis, err)
	var nodes []redis.UniversalClient
	for range n {
		addr := freeAddr(t)
		_, port, _ := net.SplitHostPort(addr)
		server := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
		require.NoError(t, server.Start())
		client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
		t.Cleanup(func() {
			_ = client.Close()
			_ = server.Process.Kill()
			_ = server.Wait()
		})
		require.Eventually(t, func() bool { return client.Ping(context.Background()).Err() == nil }, 5*time.Second, 10*time.Millisecond)
		nodes = append(nodes, client)
	}
	return nodes
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
