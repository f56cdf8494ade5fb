package redlock

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// far is how far a node is.
const far = 10 * time.Millisecond

// inTurn runs a test on five nodes and a client that asks one after the other.
func inTurn(t *testing.T, test func(*testing.T, *cluster, *user)) {
	t.Helper()
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, WithNodesInTurn())
		u.warmUp(t)
		test(t, c, u)
	})
}

// One round trip for all, or one for each node of the majority.
func TestNodesInTurn(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		at := func(u *user) time.Duration {
			u.warmUp(t)
			u.each(func(l *link) { l.onCommand(slow("set", far)) })
			began := time.Now()
			lease, err := u.TryAcquire(t.Context(), key, ttl)
			require.NoError(t, err)
			took := time.Since(began)
			time.Sleep(5 * far) // the rest go on
			require.NotContains(t, c.owners(), "")
			require.NoError(t, lease.Release(t.Context()))
			time.Sleep(far)
			require.Equal(t, make([]string, 5), c.owners())
			return took
		}
		require.Equal(t, far, at(c.user(1)))
		require.Equal(t, 3*far, at(c.user(2, WithNodesInTurn())))
	})
}

// A hung node costs its timeout, and the others are asked after it.
func TestNodesInTurnPassOverAHungNode(t *testing.T) {
	const timeout = 30 * time.Millisecond
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.userWith(1, c.servers, func(o *redis.Options) { o.ContextTimeoutEnabled = true }, WithNodesInTurn(),
			WithNodeTimeout(timeout))
		u.warmUp(t)
		u.each(func(l *link) {
			l.onReply(func(command string) error {
				if command == "set" {
					time.Sleep(timeout)
					return os.ErrDeadlineExceeded // as a socket with a deadline
				}
				return nil
			})
		}, 1, 2)
		began := time.Now()
		_, err := u.TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		require.Equal(t, 2*timeout, time.Since(began))
	})
}

// What a node would grant to an attempt that has failed would only keep others
// from it.
func TestAFailedAttemptInTurnLeavesOutTheRest(t *testing.T) {
	inTurn(t, func(t *testing.T, c *cluster, u *user) {
		c.occupy("other", 1, 2, 4)
		for _, command := range []string{"set", "evalsha"} {
			sent := u.count(command)
			_, err := u.TryAcquire(t.Context(), key, ttl)
			require.ErrorIs(t, err, ErrHeld)
			time.Sleep(ttl)
			require.Equal(t, []int{1, 1, 1, 1, 0}, sent(), command)
		}
		require.Equal(t, []string{"other", "other", "", "other", ""}, c.owners())
	})
}

func TestACutAttemptInTurnLeavesOutTheRest(t *testing.T) {
	inTurn(t, func(t *testing.T, c *cluster, u *user) {
		sets := u.count("set")
		u.each(func(l *link) { l.onReply(slow("set", far)) })
		ctx, cancel := context.WithTimeout(t.Context(), far+far/2)
		defer cancel()
		_, err := u.TryAcquire(ctx, key, ttl)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(ttl)
		require.Equal(t, []int{1, 1, 0, 0, 0}, sets())
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// A lease that is over needs no more keys.
func TestALeaseInTurnThatIsReleasedLeavesOutTheRest(t *testing.T) {
	inTurn(t, func(t *testing.T, c *cluster, u *user) {
		sets := u.count("set")
		u.each(func(l *link) { l.onReply(slow("set", far)) })
		l, err := u.TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		time.Sleep(far / 2) // the fourth is being asked
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(ttl)
		require.Equal(t, []int{1, 1, 1, 1, 0}, sets())
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// A release that goes from node to node runs ahead of, or behind, whoever asks
// them in the same order, who is then refused by each one or meets the others
// half-way.
func TestNodesInTurnAreReleasedAtOnce(t *testing.T) {
	inTurn(t, func(t *testing.T, c *cluster, u *user) {
		l := u.must(t)
		u.each(func(l *link) { l.onCommand(slow("evalsha", far)) })
		began := time.Now()
		require.NoError(t, l.Extend(t.Context()))
		require.Equal(t, far, time.Since(began))
		require.NoError(t, l.Release(t.Context()))
		require.Equal(t, 2*far, time.Since(began))
		synctest.Wait()
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// count counts the commands of a name that are sent, by node, from now on.
func (u *user) count(name string) func() []int {
	sent := make([]atomic.Int32, len(u.links))
	for i, l := range u.links {
		l.onCommand(func(command string) error {
			if command == name {
				sent[i].Add(1)
			}
			return nil
		})
	}
	return func() []int {
		counts := make([]int, len(sent))
		for i := range sent {
			counts[i] = int(sent[i].Load())
		}
		return counts
	}
}
