package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/rig"
)

func TestClose_EndsWaitsAndWatches_RefusesNewWork(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l := u.Must(t)
		ctx := l.Watch(t.Context())
		waiting := make(chan error)
		go func() {
			_, err := u.Acquire(t.Context(), rig.Key, rig.TTL)
			waiting <- err
		}()
		time.Sleep(10 * time.Millisecond)
		closed := make(chan error)
		go func() { closed <- u.Close() }()
		require.ErrorIs(t, <-waiting, redlock.ErrClosed)
		require.NoError(t, <-closed)
		require.NoError(t, u.Close(), "a second Close")

		require.ErrorIs(t, context.Cause(ctx), redlock.ErrClosed)
		require.ErrorIs(t, context.Cause(l.Watch(t.Context())), redlock.ErrClosed)
		require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrClosed)
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrClosed)
		_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorIs(t, err, redlock.ErrClosed)
		require.Equal(t, l.Token(), c.Owners()[0], "leases are not released by Close")
	})
}

func TestClose_WaitsForLateSetsAndTheirReleases(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.OnCommand(rig.Slow("set", 500*time.Millisecond), 4, 5)
		began := time.Now()
		require.NoError(t, u.Must(t).Release(t.Context()))
		require.Zero(t, time.Since(began), "neither acquire nor release waits for the slow nodes")
		require.NoError(t, u.Close())
		require.Equal(t, 500*time.Millisecond, time.Since(began))
		require.Equal(t, make([]string, 5), c.Owners())
	})
}

// The longest chain of one node, with a client that ends calls with their contexts: a SET, its release, and the
// release's last retry.
func TestClose_HungNode_WaitsForTheChainOfCalls(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, rig.Clients(func(o *redis.Options) { o.ContextTimeoutEnabled = true }))
		u.WarmUp(t)
		u.Each((*rig.Link).Hang, 5)
		began := time.Now()
		require.NoError(t, u.Must(t).Release(t.Context()))
		require.NoError(t, u.Close())
		took := time.Since(began)
		require.Greater(t, took, 3*rig.TTL, "the calls are carried out one after another")
		require.Less(t, took, 3*rig.TTL+time.Second)
	})
}

func TestClose_CallsDoNotEnd_Fails(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		u.OnCommand(rig.Slow("set", time.Minute), 5)
		u.Must(t)
		began := time.Now()
		require.ErrorContains(t, u.Close(), "calls to nodes are still under way after 4s")
		require.Equal(t, 3*rig.TTL+time.Second, time.Since(began))
		time.Sleep(time.Minute)
	})
}
