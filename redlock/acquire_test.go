package redlock

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestAcquire(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l, err := c.user(1).Acquire(t.Context(), key, ttl+time.Microsecond)
		require.NoError(t, err)
		require.Equal(t, key, l.Key())
		require.Len(t, l.Token(), 40)
		require.Equal(t, ttl, l.TTL())
		require.Equal(t, ttl-ttl/100-2*time.Millisecond, l.Validity())
		synctest.Wait()
		for i, s := range c.servers {
			require.Equal(t, l.Token(), c.owners()[i])
			require.Equal(t, ttl, s.TTL(key))
		}
		time.Sleep(l.Validity())
		require.Zero(t, l.Validity())
		time.Sleep(time.Second)
		require.Negative(t, l.Validity())
	})
}

func TestAcquireOnOneNode(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		require.NoError(t, c.user(1).must(t).Release(t.Context()))
		require.Equal(t, []string{""}, c.owners())
	})
}

func TestAcquireRefusesBadArguments(t *testing.T) {
	inBubble(t, 1, func(t *testing.T, c *cluster) {
		u := c.user(1)
		_, err := u.Acquire(t.Context(), "", ttl)
		require.ErrorContains(t, err, "the key is empty")
		for _, short := range []time.Duration{-1, 0, time.Microsecond, 2 * time.Millisecond} {
			_, err = u.Acquire(t.Context(), key, short)
			require.ErrorContains(t, err, "leaves no validity")
		}
		_, err = u.Acquire(t.Context(), key, 3*time.Millisecond)
		require.NoError(t, err)
	})
}

func TestAcquireWaitsItsTurn(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		first, second := c.user(1), c.user(2)
		l := first.must(t)
		began := time.Now()
		go func() {
			time.Sleep(600 * time.Millisecond)
			_ = l.Release(t.Context())
		}()
		next, err := second.Acquire(t.Context(), key, ttl)
		require.NoError(t, err)
		require.NotEqual(t, l.Token(), next.Token())
		waited := time.Since(began)
		require.GreaterOrEqual(t, waited, 600*time.Millisecond)
		require.LessOrEqual(t, waited, 600*time.Millisecond+DefaultRetryMax)
	})
}

// Why an attempt failed, for every mix of what nodes say.
func TestAcquireTellsWhy(t *testing.T) {
	for name, tc := range map[string]struct {
		held, cut []int
		reason    error
	}{
		"majority held":              {held: []int{1, 2, 3}, reason: ErrHeld},
		"held, rest unreachable":     {held: []int{1, 2, 3}, cut: []int{4, 5}, reason: ErrHeld},
		"majority unreachable":       {cut: []int{1, 2, 3}, reason: ErrNoMajority},
		"some held, one unreachable": {held: []int{1, 2}, cut: []int{3}, reason: ErrHeld},
		"minority held":              {held: []int{1, 2}},
		"minority unreachable":       {cut: []int{1, 2}},
		"one of each":                {held: []int{5}, cut: []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, c *cluster) {
				u := c.user(1)
				c.occupy("another", tc.held...)
				if len(tc.cut) > 0 {
					u.each((*link).cut, tc.cut...)
				}
				_, err := u.TryAcquire(t.Context(), key, ttl)
				if tc.reason == nil {
					require.NoError(t, err)
					return
				}
				var failed *AttemptError
				require.ErrorAs(t, err, &failed)
				require.ErrorIs(t, err, tc.reason)
				require.Equal(t, tc.reason, failed.Reason)
				require.Equal(t, 3, failed.Need)
				require.Less(t, failed.Got, 3)
				require.Nil(t, failed.Ended)
				for _, n := range failed.Nodes {
					require.Equal(t, u.links[n.Node].addr, n.Addr)
					require.Error(t, n.Err)
				}
			})
		})
	}
}

func TestTriesAreUsedUp(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		c.occupy("another", 1, 2, 3)
		u := c.user(1, WithTries(3), WithRetryDelay(time.Second, time.Second))
		began := time.Now()
		_, err := u.Acquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, ErrHeld)
		require.ErrorContains(t, err, "at the last of 3 attempts")
		require.ErrorContains(t, err, `held by token "another"`)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestDeadlineBetweenAttempts(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		c.occupy("another", 1, 2, 3)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.user(1).Acquire(ctx, key, ttl)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrHeld, "it tells what the last attempt saw")
	})
}

func TestCancelledInMidAttempt(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, WithNodeTimeout(time.Minute))
		u.each(func(l *link) { l.onCommand(slow("set", 700*time.Millisecond)) }, 3, 4, 5)
		why := errors.New("the user pressed stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(why) })
		began := time.Now()
		_, err := u.Acquire(ctx, key, ttl)
		require.Equal(t, 500*time.Millisecond, time.Since(began), "it does not wait for the slow nodes")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, "2 of 3 needed nodes said yes")
		require.ErrorContains(t, err, "node 4 (n5:6379): had not answered yet")
		time.Sleep(300 * time.Millisecond)
		require.Equal(t, make([]string, 5), c.owners(), "late SETs are taken back too")
	})
}

// An attempt that is cut short after others were decided tells the last decided.
func TestCancelledInLaterAttempt(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, WithNodeTimeout(time.Minute), WithRetryDelay(time.Second, time.Second))
		c.occupy("another", 1, 2, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		go func() {
			time.Sleep(500 * time.Millisecond)
			u.each(func(l *link) { l.onCommand(slow("set", time.Second)) })
		}()
		_, err := u.Acquire(ctx, key, ttl)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrHeld)
		require.ErrorContains(t, err, "at the last of 2 attempts")
	})
}

func TestCancelledBeforeItBegan(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		u := c.user(1)
		u.each(func(l *link) {
			l.onCommand(func(string) error { t.Error("a command was sent"); return nil })
		})
		_, err := u.Acquire(ctx, key, ttl)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestGrantReturnsAtMajority(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.each(func(l *link) { l.onCommand(slow("set", 30*time.Millisecond)) }, 4, 5)
		began := time.Now()
		l := u.must(t)
		require.Zero(t, time.Since(began))
		time.Sleep(30 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, l.Token(), c.owners()[4], "stragglers belong to the lease")
	})
}

// go-redis ignores context deadlines while it reads; the limit binds all the same.
func TestNodeTimeoutBinds(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, WithNodeTimeout(70*time.Millisecond))
		u.each(func(l *link) { l.onReply(slow("set", 3*time.Second)) }, 2, 3, 4)
		began := time.Now()
		_, err := u.TryAcquire(t.Context(), key, ttl)
		require.Equal(t, 70*time.Millisecond, time.Since(began))
		require.ErrorIs(t, err, ErrNoMajority)
		require.ErrorIs(t, err, ErrNodeTimeout)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Without the limit, even an attempt that is won hears out every node.
func TestWithoutNodeTimeoutEveryNodeIsHeardOut(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, Without(NodeTimeout))
		u.each(func(l *link) { l.onCommand(slow("set", 300*time.Millisecond)) }, 5)
		began := time.Now()
		l := u.must(t)
		require.Equal(t, 300*time.Millisecond, time.Since(began))
		require.Equal(t, 688*time.Millisecond, l.Validity())
	})
}

// A command that go-redis repeats after its first reply was lost finds our own
// token: that is a yes.
func TestOwnTokenIsAYes(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.userWith(1, c.servers, func(o *redis.Options) { o.MaxRetries = 2 })
		u.warmUp(t)
		u.each(func(l *link) {
			l.onReply(func(command string) error {
				l.onReply(nil)
				return io.ErrUnexpectedEOF
			})
		})
		l := u.must(t)
		require.Equal(t, l.Token(), c.owners()[0])
	})
}

func TestTokens(t *testing.T) {
	tokens := func(opts ...Option) map[string]bool {
		seen := map[string]bool{}
		inBubble(t, 5, func(t *testing.T, c *cluster) {
			c.occupy("another", 1, 2, 3)
			u := c.user(1, append(opts, WithTries(4))...)
			c.servers[0].Server().SetPreHook(func(_ *server.Peer, cmd string, args ...string) bool {
				if cmd == "SET" {
					seen[args[1]] = true
				}
				return false
			})
			_, err := u.Acquire(t.Context(), key, ttl)
			require.ErrorIs(t, err, ErrHeld)
		})
		return seen
	}
	require.Len(t, tokens(), 4, "one for each attempt")
	require.Len(t, tokens(Without(FreshToken)), 1, "one for all")
}

// Many callers on one lock: never two at a time, and none is left behind.
func TestContention(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		var mu sync.Mutex
		var holders, grants int
		var all sync.WaitGroup
		for seed := range uint64(4) {
			u := c.user(seed)
			all.Go(func() {
				for range 5 {
					l, err := u.Acquire(t.Context(), key, ttl)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					holders++
					grants++
					if holders > 1 {
						t.Error("two holders at once")
					}
					mu.Unlock()
					time.Sleep(20 * time.Millisecond)
					mu.Lock()
					holders--
					mu.Unlock()
					if err := l.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, 20, grants)
		synctest.Wait()
		require.Equal(t, strings.Repeat(" ", 4), strings.Join(c.owners(), " "))
	})
}
