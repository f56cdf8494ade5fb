package virtual_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/virtual"
)

// The wall clock runs while the node is paused.
func TestKeys_ExpireByTheNodesWallClock(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		jumps []time.Duration
		rate  float64
		left  time.Duration // of a TTL of 1 s, 100 ms later; 0: the key is gone
	}{
		"left alone":                      {nil, 0, 900 * time.Millisecond},
		"a jump forward":                  {[]time.Duration{300 * time.Millisecond}, 0, 600 * time.Millisecond},
		"a jump past the expiry":          {[]time.Duration{2 * time.Second}, 0, 0},
		"a jump past the expiry and back": {[]time.Duration{2 * time.Second, -2 * time.Second}, 0, 0},
		"a jump back":                     {[]time.Duration{-5 * time.Second}, 0, 5900 * time.Millisecond},
		"a fast clock":                    {nil, 2, 800 * time.Millisecond},
		"a slow clock":                    {nil, 0.5, 950 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			with(t, 1, nil, func(b clustertest.Bench) {
				n, rdb := b.Node("n1"), b.Over("c1", "n1")
				require.NoError(t, rdb.Set(ctx, "k", "v", time.Second).Err())
				require.NoError(t, n.SetClock(ctx, 0, c.rate))
				for _, jump := range c.jumps {
					require.NoError(t, n.SetClock(ctx, jump, 0))
				}
				require.NoError(t, n.Pause(ctx))
				require.NoError(t, b.Sleep(ctx, 50*time.Millisecond))
				require.NoError(t, n.Resume(ctx))
				require.NoError(t, b.Sleep(ctx, 50*time.Millisecond))
				at, err := n.Clock(ctx)
				require.NoError(t, err)
				require.InDelta(t, at, rdb.Time(ctx).Val().Sub(began).Nanoseconds(), float64(5*time.Millisecond))
				keys := clustertest.Look(t, n).Keys
				if c.left == 0 {
					require.NotContains(t, keys, "k")
					require.Equal(t, time.Duration(-2), rdb.PTTL(ctx, "k").Val())
					return
				}
				require.InDelta(t, int64(c.left), keys["k"].TTL, float64(2*time.Millisecond))
				require.InDelta(t, int64(c.left), int64(rdb.PTTL(ctx, "k").Val()), float64(3*time.Millisecond))
			})
		})
	}
}

func TestResume_AnswersInOrderOfArrival(t *testing.T) {
	with(t, 1, func(cfg *cluster.Config) { cfg.Clients = fiveClients }, func(b clustertest.Bench) {
		n, clients := b.Node("n1"), map[string]*redis.Client{}
		for _, name := range fiveClients {
			clients[name] = b.Over(name, "n1")
			require.NoError(t, clients[name].Ping(ctx).Err()) // connects
		}
		require.NoError(t, n.Pause(ctx))
		took := make(chan string, 5)
		for _, name := range fiveClients {
			go func() { took <- fmt.Sprint(name, " ", clients[name].SetNX(ctx, "k", name, time.Minute).Val()) }()
			require.NoError(t, b.Sleep(ctx, time.Millisecond))
		}
		require.NoError(t, b.Sleep(ctx, time.Second))
		require.Empty(t, took, "no client gets a reply")
		require.NoError(t, n.Resume(ctx))
		require.NoError(t, b.Sleep(ctx, time.Second))
		close(took)
		var all []string
		for result := range took {
			all = append(all, result)
		}
		require.ElementsMatch(t, []string{"c1 true", "c2 false", "c3 false", "c4 false", "c5 false"}, all,
			"the first client")
	})
}

func TestUnmodelledCommand_IsRefused(t *testing.T) {
	with(t, 1, nil, func(b clustertest.Bench) {
		rdb := b.Over("c1", "n1")
		for _, c := range []struct {
			command []any
			want    string
		}{
			{[]any{"HEXPIRE", "h", 1, "FIELDS", 1, "f"}, "HEXPIRE is not modelled"},
			{[]any{"PFADD", "p", "v"}, "PFADD is not modelled"},
			{[]any{"BLPOP", "l", "0"}, "BLPOP is not modelled"},
			{[]any{"PSUBSCRIBE", "c"}, "PSUBSCRIBE is not modelled"},
			{[]any{"SUBSCRIBE", "c", "__keyspace@0__:c"}, "SUBSCRIBE to keyspace notifications is not modelled"},
			{[]any{"SUBSCRIBE", "__keyevent@0__:del"}, "SUBSCRIBE to keyspace notifications is not modelled"},
			{[]any{"EVAL", `return redis.call("XADD", "h", "*", "f", "v")`, 0}, "XADD is not modelled"},
			{[]any{"SELECT", "1"}, "database 0 only"},
			{[]any{"NONSENSE"}, "ERR unknown command"},
			{[]any{"EVAL", `return function() end`, 0}, "miniredis gave up"},
		} {
			require.NoError(t, rdb.Set(ctx, "k", "v", 0).Err())
			require.ErrorContains(t, rdb.Do(ctx, c.command...).Err(), c.want)
			awaitConnectionEnd(b)
			require.Equal(t, "v", rdb.Get(ctx, "k").Val(), "after %v", c.command)
		}
	})
}

func TestTransaction_WatchedKeyChanged_Fails(t *testing.T) {
	with(t, 1, nil, func(b clustertest.Bench) {
		n, rdb := b.Node("n1"), b.Over("c1", "n1")
		require.NoError(t, rdb.Set(ctx, "k", "mine", time.Second).Err())
		remove := func(meanwhile func()) error {
			return rdb.Watch(ctx, func(tx *redis.Tx) error {
				if tx.Get(ctx, "k").Val() != "mine" {
					return redis.Nil
				}
				meanwhile()
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, "k").Err() })
				return err
			}, "k")
		}
		require.ErrorIs(t, remove(func() { rdb.Set(ctx, "k", "mine", time.Second) }), redis.TxFailedErr)
		require.NoError(t, remove(func() {
			require.NoError(t, n.SetClock(ctx, -time.Hour, 0))
		}), "setting the clock changes no key")
		require.Empty(t, clustertest.Look(t, n).Keys)
	})
}

// talk sends lines and QUIT on a new connection, and returns all replies. It calls meanwhile after the first line.
func talk(t *testing.T, dial func() (net.Conn, error), meanwhile func(), lines ...string) string {
	t.Helper()
	conn, err := dial()
	require.NoError(t, err)
	defer conn.Close()
	first := make([]byte, len("*3\r\n"))
	for i, line := range append(lines, "QUIT") {
		words := strings.Fields(line)
		fmt.Fprintf(conn, "*%d\r\n", len(words))
		for _, word := range words {
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
		}
		if i == 0 && meanwhile != nil {
			_, err := io.ReadFull(conn, first)
			require.NoError(t, err)
			meanwhile()
		}
	}
	rest, err := io.ReadAll(conn)
	require.NoError(t, err)
	return strings.TrimLeft(string(first)+string(rest), "\x00")
}

// messages are the replies to commands on channels by several connections.
func messages(t *testing.T, dial func() (net.Conn, error)) (all []string) {
	publish := func() {
		all = append(all, talk(t, dial, nil, "PUBLISH a hello", "PUBLISH c nobody", "PUBLISH a", "PING"))
	}
	all = append(all, talk(t, dial, publish, "SUBSCRIBE a b a", "PING", "GET x", "PUBLISH a mine", "UNSUBSCRIBE a",
		"PUBLISH b x",
		"UNSUBSCRIBE", "UNSUBSCRIBE", "SUBSCRIBE", "PUBLISH b gone", "GET x"))
	return append(all, talk(t, dial, nil, "EVAL return{redis.call('PUBLISH','a','b')} 0"))
}

func TestChannels_AsRedis(t *testing.T) {
	real := realRedis(t)
	want := messages(t, func() (net.Conn, error) { return net.Dial("unix", real.Options().Addr) })
	with(t, 1, nil, func(b clustertest.Bench) {
		dial := virtual.Dial(b.Cluster.(*virtual.Cluster), "c1")
		require.Equal(t, want, messages(t, func() (net.Conn, error) { return dial(ctx, "mem", "n1") }))
	})
}

// Neither closed nor later connections receive a message.
func TestPublish_ReachesOnlyPresentSubscribers(t *testing.T) {
	with(t, 1, nil, func(b clustertest.Bench) {
		n, rdb := b.Node("n1"), b.Over("c1", "n1")
		gone := rdb.Subscribe(ctx, "k")
		_, err := gone.Receive(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, rdb.Publish(ctx, "k", "first").Val())
		require.NoError(t, gone.Close())
		awaitConnectionEnd(b)
		require.Zero(t, rdb.Publish(ctx, "k", "second").Val())
		late := rdb.Subscribe(ctx, "k")
		_, err = late.Receive(ctx)
		require.NoError(t, err)
		_, err = late.ReceiveTimeout(ctx, time.Second)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, n.Kill(ctx))
		require.ErrorIs(t, b.Over("c1", "n1").Ping(ctx).Err(), syscall.ECONNREFUSED)
		require.NoError(t, n.Start(ctx))
		require.Zero(t, rdb.Publish(ctx, "k", "third").Val(), "a restart ends subscriptions")
		require.NoError(t, late.Close())
		require.ErrorContains(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Publish(ctx, "k", "x").Err() })
			return err
		}), "EXECABORT", "it is not modelled so")
	})
}
