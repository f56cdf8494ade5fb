package redlock

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A duplicate that shows late is refused from then on, and never counts.
func TestDuplicateIsRefusedForGood(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		u := c.userOn(1, []*miniredis.Miniredis{c.servers[0], c.servers[1], c.servers[0]})
		u.each(func(l *link) { l.onCommand(slow("set", time.Millisecond)) }, 3)
		l := u.must(t)
		time.Sleep(2 * time.Millisecond)
		_, err := u.Acquire(t.Context(), "k2", ttl)
		require.ErrorIs(t, err, ErrDuplicateNode)
		require.ErrorContains(t, err, "nodes 0 (n1:6379) and 2 (n3:6379) are one server with run id")
		require.NoError(t, l.Release(t.Context()), "what is held can still be given back")
	})
}

// A node whose first exchange failed has not said who it is, and is asked again.
func TestNodeIsIdentifiedByAnAnswerOnly(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, c *cluster) {
		u := c.userOn(1, []*miniredis.Miniredis{c.servers[0], c.servers[0], c.servers[1]})
		u.each((*link).cut, 2)
		require.NoError(t, u.must(t).Release(t.Context()))
		u.each(func(l *link) { l.onCommand(nil) }, 2)
		l, err := u.TryAcquire(t.Context(), key, ttl)
		for err == nil { // the other two may answer first
			synctest.Wait()
			require.NoError(t, l.Release(t.Context()))
			l, err = u.TryAcquire(t.Context(), key, ttl)
			require.Less(t, time.Since(u.clock.origin), time.Minute)
			time.Sleep(time.Second)
		}
		require.ErrorIs(t, err, ErrDuplicateNode)
	})
}

func TestServerThatRefusesInfoStaysUnverified(t *testing.T) {
	for name, held := range map[string]bool{"that gives its key": false, "whose key is another's": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				var asked atomic.Int32
				for _, s := range c.servers {
					s.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
						if cmd != "INFO" {
							return false
						}
						asked.Add(1)
						c.WriteError("NOPERM this user has no permissions to run the 'info' command")
						return true
					})
				}
				u := c.user(1)
				if held {
					c.occupy("another", 1, 2, 3)
					_, err := u.TryAcquire(t.Context(), key, ttl)
					require.ErrorIs(t, err, ErrHeld)
					synctest.Wait()
					c.free(1, 2, 3)
				} else {
					u.warmUp(t)
				}
				u.must(t)
				synctest.Wait()
				require.EqualValues(t, 3, asked.Load(), "each is asked once")
			})
		})
	}
}

func TestOldServerIsNamedAsSuch(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		c.servers[0].SetError("ERR syntax error")
		_, err := c.user(1).TryAcquire(t.Context(), key, ttl)
		require.ErrorContains(t, err, "needs Redis 7.0 or later")
	})
}

// N clients of one Redis Cluster are one server for a key, whatever their addresses. One
// alone is a lock on one node, which nothing can be listed twice on.
func TestClientsOfAClusterAreNoNodes(t *testing.T) {
	of := func(addr string) redis.UniversalClient {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}})
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:4"}})
	t.Cleanup(func() { _ = ring.Close() })
	plain := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = plain.Close() })

	for name, nodes := range map[string][]redis.UniversalClient{
		"a cluster, by two of its servers": {of("127.0.0.1:1"), of("127.0.0.1:2")},
		"a cluster beside a server":        {plain, of("127.0.0.1:2")},
		"a server beside a ring":           {ring, plain},
	} {
		_, err := New(nodes)
		require.ErrorIs(t, err, ErrDuplicateNode, name)
		require.ErrorContains(t, err, "may be one server: a client of a Redis Cluster or a ring asks whichever has the key", name)
		lock, err := New(nodes, Without(DistinctNodes))
		require.NoError(t, err, name)
		require.NoError(t, lock.Close())
	}
	lock, err := New([]redis.UniversalClient{of("127.0.0.1:1")})
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}
