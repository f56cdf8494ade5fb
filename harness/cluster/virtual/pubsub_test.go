package virtual_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/internal/needs"
)

// talk sends lines on a connection of its own, and gives what comes back until the server has taken QUIT.
// After the first line it calls meanwhile.
func talk(t *testing.T, dial func() (net.Conn, error), meanwhile func(), lines ...string) string {
	t.Helper()
	conn, err := dial()
	require.NoError(t, err)
	defer conn.Close()
	said := make([]byte, len("*3\r\n"))
	for i, line := range append(lines, "QUIT") {
		words := strings.Fields(line)
		fmt.Fprintf(conn, "*%d\r\n", len(words))
		for _, word := range words {
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
		}
		if i == 0 && meanwhile != nil {
			_, err := io.ReadFull(conn, said)
			require.NoError(t, err)
			meanwhile()
		}
	}
	rest, err := io.ReadAll(conn)
	require.NoError(t, err)
	return strings.TrimLeft(string(said)+string(rest), "\x00")
}

// messages is what several connections say about channels.
func messages(t *testing.T, dial func() (net.Conn, error)) (all []string) {
	publish := func() {
		all = append(all, talk(t, dial, nil, "PUBLISH a hello", "PUBLISH c nobody", "PUBLISH a", "PING"))
	}
	all = append(all, talk(t, dial, publish, "SUBSCRIBE a b a", "PING", "GET x", "PUBLISH a mine", "UNSUBSCRIBE a", "PUBLISH b x",
		"UNSUBSCRIBE", "UNSUBSCRIBE", "SUBSCRIBE", "PUBLISH b gone", "GET x"))
	return append(all, talk(t, dial, nil, "EVAL return{redis.call('PUBLISH','a','b')} 0"))
}

// TestChannels_AsRedis compares the messages with those of a real server.
func TestChannels_AsRedis(t *testing.T) {
	program, err := exec.LookPath("redis-server")
	needs.Check(t, needs.Redis, err)
	socket := filepath.Join(tempDir(t), "s")
	real := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "")
	require.NoError(t, real.Start())
	defer func() { _, _ = real.Process.Kill(), real.Wait() }()
	dial := func() (net.Conn, error) { return net.Dial("unix", socket) }
	require.Eventually(t, func() bool {
		conn, err := dial()
		return err == nil && conn.Close() == nil
	}, time.Minute, 5*time.Millisecond)
	want := messages(t, dial)
	oneNode(t, cluster.PersistNone, func(c *virtual.Cluster, _ cluster.Node, _ *redis.Client) {
		require.Equal(t, want, messages(t, func() (net.Conn, error) { return virtual.Dial(c, "c1")(ctx, "mem", "n1") }))
	})
}

// TestMessages_EndWithTheirConnection: who has gone receives nothing, and a message does not wait for who comes later.
func TestMessages_EndWithTheirConnection(t *testing.T) {
	oneNode(t, cluster.PersistNone, func(c *virtual.Cluster, n cluster.Node, rdb *redis.Client) {
		gone := rdb.Subscribe(ctx, "k")
		_, err := gone.Receive(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, rdb.Publish(ctx, "k", "first").Val())
		require.NoError(t, gone.Close())
		hearOfTheEnd(c)
		require.Zero(t, rdb.Publish(ctx, "k", "second").Val())
		late := rdb.Subscribe(ctx, "k")
		_, err = late.Receive(ctx)
		require.NoError(t, err)
		_, err = late.ReceiveTimeout(ctx, time.Second)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, n.Kill(ctx))
		require.NoError(t, n.Start(ctx))
		require.Zero(t, rdb.Publish(ctx, "k", "third").Val(), "a restart ends subscriptions")
		require.NoError(t, late.Close())
		require.ErrorContains(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Publish(ctx, "k", "x").Err() })
			return err
		}), "EXECABORT", "it is not modelled so")
	})
}
