package virtual_test

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual"
	"example.org/lockproof/harness/history"
)

// oneNode runs f in a bubble with one node, and go-redis on a link to it.
func oneNode(t *testing.T, setting cluster.Persistence, f func(c *virtual.Cluster, n cluster.Node, rdb *redis.Client)) {
	t.Helper()
	inBubble(t, func() {
		c, err := virtual.New(cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Persistence: setting, Seed: 1,
			Record: func(history.Event) {}})
		require.NoError(t, err)
		rdb := connect(c, "c1", "n1")
		f(c, c.Node("n1"), rdb)
		require.NoError(t, rdb.Close())
		require.NoError(t, c.Close())
	})
}

// connect makes a go-redis client over a link.
func connect(c *virtual.Cluster, from, to string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:       to,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, PoolSize: 100,
		DisableIdentity:          true,
		Protocol:                 2,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return virtual.Dial(c, from)(ctx, network, addr)
		},
	})
}

// hearOfTheEnd lets the end of a connection reach its client, which would use it
// again until then.
func hearOfTheEnd(c *virtual.Cluster) { _ = c.Sleep(ctx, time.Millisecond) }

func look(t *testing.T, n cluster.Node) history.Node {
	seen, err := n.Look(ctx)
	require.NoError(t, err)
	return seen
}

func TestKeysExpireOnTheNodesWallClock(t *testing.T) {
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		do   func(n cluster.Node, c *virtual.Cluster) error
		left time.Duration // of a TTL of 1 s, 100 ms later
	}{
		{"left alone", func(cluster.Node, *virtual.Cluster) error { return nil }, 900 * time.Millisecond},
		{"a jump forward", func(n cluster.Node, _ *virtual.Cluster) error {
			return n.SetClock(ctx, 300*time.Millisecond, 0)
		}, 600 * time.Millisecond},
		{"a jump past the expiry", func(n cluster.Node, _ *virtual.Cluster) error { return n.SetClock(ctx, 2*time.Second, 0) }, 0},
		{"a jump past the expiry and back", func(n cluster.Node, _ *virtual.Cluster) error {
			if err := n.SetClock(ctx, 2*time.Second, 0); err != nil {
				return err
			}
			return n.SetClock(ctx, -2*time.Second, 0)
		}, 0},
		{"a jump back", func(n cluster.Node, _ *virtual.Cluster) error { return n.SetClock(ctx, -5*time.Second, 0) },
			5900 * time.Millisecond},
		{"a fast clock", func(n cluster.Node, _ *virtual.Cluster) error { return n.SetClock(ctx, 0, 2) }, 800 * time.Millisecond},
		{"a slow clock", func(n cluster.Node, _ *virtual.Cluster) error { return n.SetClock(ctx, 0, 0.5) }, 950 * time.Millisecond},
		{"a pause", func(n cluster.Node, c *virtual.Cluster) error {
			if err := n.Pause(ctx); err != nil {
				return err
			}
			if err := c.Sleep(ctx, 50*time.Millisecond); err != nil {
				return err
			}
			return n.Resume(ctx)
		}, 850 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			oneNode(t, cluster.PersistNone, func(cl *virtual.Cluster, n cluster.Node, rdb *redis.Client) {
				require.NoError(t, rdb.Set(ctx, "k", "v", time.Second).Err())
				require.NoError(t, rdb.Set(ctx, "for ever", "v", 0).Err())
				require.NoError(t, rdb.Incr(ctx, "fence:k").Err())
				set := cl.Now()
				require.NoError(t, c.do(n, cl))
				require.NoError(t, cl.Sleep(ctx, 100*time.Millisecond))
				keys := look(t, n).Keys
				require.Equal(t, history.KeyState{Token: "v", TTL: -1}, keys["for ever"])
				require.NotContains(t, keys, "fence:k", "a counter is no lock")
				at, err := n.Clock(ctx)
				require.NoError(t, err)
				require.InDelta(t, at, rdb.Time(ctx).Val().Sub(began).Nanoseconds(), float64(5*time.Millisecond))
				if c.left == 0 {
					require.NotContains(t, keys, "k")
					require.Equal(t, time.Duration(-2), rdb.PTTL(ctx, "k").Val())
					return
				}
				require.InDelta(t, int64(c.left), keys["k"].TTL, float64(2*time.Millisecond), "set at %d", set)
				require.InDelta(t, int64(c.left), int64(rdb.PTTL(ctx, "k").Val()), float64(3*time.Millisecond))
			})
		})
	}
}

func TestAKillLosesWhatIsOnItsWay(t *testing.T) {
	oneNode(t, cluster.PersistAlways, func(c *virtual.Cluster, n cluster.Node, rdb *redis.Client) {
		require.NoError(t, rdb.Set(ctx, "k", "before", 0).Err())
		sent := make(chan error)
		go func() { sent <- rdb.Set(ctx, "k", "after", 0).Err() }()
		require.NoError(t, c.Sleep(ctx, 50*time.Microsecond)) // half way to the node
		require.NoError(t, n.Kill(ctx))
		require.Error(t, <-sent)
		require.ErrorIs(t, rdb.Ping(ctx).Err(), syscall.ECONNREFUSED)
		require.NoError(t, n.Start(ctx))
		require.Equal(t, "before", rdb.Get(ctx, "k").Val())
		require.Contains(t, rdb.Info(ctx, "server").Val(), "run_id:"+look(t, n).RunID)
		require.Contains(t, rdb.Info(ctx).Val(), "redis_version:7.0.15")
	})
}

func TestScriptsAreForgottenInARestart(t *testing.T) {
	oneNode(t, cluster.PersistAlways, func(cl *virtual.Cluster, n cluster.Node, rdb *redis.Client) {
		script := redis.NewScript(`return redis.call("SET", KEYS[1], ARGV[1])`)
		require.NoError(t, script.Load(ctx, rdb).Err())
		require.NoError(t, script.EvalSha(ctx, rdb, []string{"k"}, "v").Err())
		require.NoError(t, n.Flush(ctx), "FLUSHALL keeps them")
		require.NoError(t, script.EvalSha(ctx, rdb, []string{"k"}, "v").Err())
		require.NoError(t, n.Kill(ctx))
		require.NoError(t, n.Start(ctx))
		hearOfTheEnd(cl)
		require.ErrorContains(t, script.EvalSha(ctx, rdb, []string{"k"}, "v").Err(), "NOSCRIPT")
	})
}

func TestAPausedNodeAnswersAfterwardsInTheOrderOfArrival(t *testing.T) {
	inBubble(t, func() {
		c, err := virtual.New(cluster.Config{Nodes: []string{"n1"}, Clients: names("c", 5), Seed: 1, Record: func(history.Event) {}})
		require.NoError(t, err)
		n := c.Node("n1")
		var clients []*redis.Client
		for _, name := range names("c", 5) {
			rdb := connect(c, name, "n1")
			require.NoError(t, rdb.Ping(ctx).Err())
			clients = append(clients, rdb)
		}
		require.NoError(t, n.Pause(ctx))
		require.False(t, look(t, n).Up)
		_, err = n.Clock(ctx)
		require.ErrorContains(t, err, "it is paused")
		require.ErrorContains(t, n.Shutdown(ctx), "resume it first")

		took := make(chan bool, len(clients))
		for _, rdb := range clients {
			go func() { took <- rdb.SetNX(ctx, "k", rdb.String(), time.Minute).Val() }()
			require.NoError(t, c.Sleep(ctx, time.Millisecond))
		}
		require.Empty(t, took, "nobody is answered")
		late := connect(c, "c1", "n1")
		go func() { late.Ping(ctx) }() // connects, as to a stopped process, and waits
		require.NoError(t, c.Sleep(ctx, time.Second))
		require.NoError(t, n.Resume(ctx))
		var yes int
		for range clients {
			if <-took {
				yes++
			}
		}
		require.Equal(t, 1, yes)
		require.Equal(t, clients[0].String(), look(t, n).Keys["k"].Token, "the first who asked")
		for _, rdb := range append(clients, late) {
			require.NoError(t, rdb.Close())
		}
		require.NoError(t, c.Close())
	})
}

func TestWhatIsNotModelledIsRefused(t *testing.T) {
	oneNode(t, cluster.PersistNone, func(cl *virtual.Cluster, n cluster.Node, rdb *redis.Client) {
		for _, c := range []struct {
			command []any
			want    string
		}{
			{[]any{"HSET", "h", "f", "v"}, "HSET is not modelled"},
			{[]any{"BLPOP", "l", "0"}, "BLPOP is not modelled"},
			{[]any{"PSUBSCRIBE", "c"}, "PSUBSCRIBE is not modelled"},
			{[]any{"EVAL", `return redis.call("HSET", "h", "f", "v")`, 0}, "HSET is not modelled"},
			{[]any{"SELECT", "1"}, "database 0 only"},
			{[]any{"DELEX", "k", "IFEQ", "v"}, "ERR unknown command 'DELEX'"},
			{[]any{"NONSENSE"}, "ERR unknown command"},
			{[]any{"EVAL", `return function() end`, 0}, "miniredis gave up"},
		} {
			require.NoError(t, rdb.Set(ctx, "k", "v", 0).Err())
			require.ErrorContains(t, rdb.Do(ctx, c.command...).Err(), c.want)
			hearOfTheEnd(cl)
			require.Equal(t, "v", rdb.Get(ctx, "k").Val(), "after %v", c.command)
		}
	})
}

func TestTransactionsWatchTheirKeys(t *testing.T) {
	oneNode(t, cluster.PersistAlways, func(c *virtual.Cluster, n cluster.Node, rdb *redis.Client) {
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
		require.NoError(t, remove(func() { require.NoError(t, n.SetClock(ctx, -time.Hour, 0)) }), "a clock that is set touches no key")
		require.Empty(t, look(t, n).Keys)
	})
}
