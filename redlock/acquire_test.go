package redlock_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/rig"
)

func TestAcquire_SetsTheKeyOnEveryNode(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l, err := c.User(1).Acquire(t.Context(), rig.Key, rig.TTL+time.Microsecond)
		require.NoError(t, err)
		require.Equal(t, rig.Key, l.Key())
		require.Len(t, l.Token(), 40)
		require.Equal(t, rig.TTL, l.TTL())
		require.Equal(t, rig.TTL-rig.TTL/100-2*time.Millisecond, l.Validity())
		synctest.Wait()
		for i, s := range c.Servers {
			require.Equal(t, l.Token(), c.Owners()[i])
			require.Equal(t, rig.TTL, s.TTL(rig.Key))
		}
		time.Sleep(l.Validity())
		require.Zero(t, l.Validity())
		time.Sleep(time.Second)
		require.Negative(t, l.Validity())
	})
}

func TestAcquire_BadArguments_Fails(t *testing.T) {
	rig.InBubble(t, 1, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		_, err := u.Acquire(t.Context(), "", rig.TTL)
		require.ErrorContains(t, err, "want a key")
		for _, short := range []time.Duration{-1, 0, time.Microsecond, 2 * time.Millisecond} {
			_, err = u.Acquire(t.Context(), rig.Key, short)
			require.ErrorContains(t, err, "more than the margin for clock drift")
		}
		_, err = u.Acquire(t.Context(), rig.Key, 3*time.Millisecond)
		require.NoError(t, err)
	})
}

func TestAcquire_Fails_ReasonReflectsVotes(t *testing.T) {
	type row struct {
		held, cut []int
		reason    error
	}
	rig.Cases(t, 5, map[string]row{
		"majority held":              {held: []int{1, 2, 3}, reason: redlock.ErrHeld},
		"held, rest unreachable":     {held: []int{1, 2, 3}, cut: []int{4, 5}, reason: redlock.ErrHeld},
		"majority unreachable":       {cut: []int{1, 2, 3}, reason: redlock.ErrNoMajority},
		"some held, one unreachable": {held: []int{1, 2}, cut: []int{3}, reason: redlock.ErrHeld},
		"minority held":              {held: []int{1, 2}},
		"minority unreachable":       {cut: []int{1, 2}},
		"one of each":                {held: []int{5}, cut: []int{1}},
	}, func(t *testing.T, c *rig.Cluster, tc row) {
		u := c.User(1)
		c.Occupy(tc.held...)
		u.Cut(tc.cut...)
		_, err := u.TryAcquire(t.Context(), rig.Key, rig.TTL)
		if tc.reason == nil {
			require.NoError(t, err)
			return
		}
		var failed *redlock.AttemptError
		require.ErrorAs(t, err, &failed)
		require.ErrorIs(t, err, tc.reason)
		require.Equal(t, tc.reason, failed.Reason)
		require.Equal(t, 3, failed.Need)
		require.Less(t, failed.Got, 3)
		require.Nil(t, failed.Ended)
		require.NotEmpty(t, failed.Nodes)
	})
}

func TestAcquire_TriesUsedUp_ReturnsLastReason(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		c.Occupy(1, 2, 3)
		u := c.User(1, rig.With(func(o *redlock.Options) { o.Tries = 3 }),
			rig.With(func(o *redlock.Options) { o.RetryMin, o.RetryMax = time.Second, time.Second }))
		began := time.Now()
		_, err := u.Acquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.ErrorContains(t, err, "at the last of 3 attempts")
		require.ErrorContains(t, err, `held by token "another"`)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestAcquire_CancelledDuringAttempt_ReleasesLateSets(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, rig.Patient(time.Minute))
		u.OnCommand(rig.Slow("set", 700*time.Millisecond), 3, 4, 5)
		why := errors.New("the user pressed stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(why) })
		began := time.Now()
		_, err := u.Acquire(ctx, rig.Key, rig.TTL)
		require.Equal(t, 500*time.Millisecond, time.Since(began), "it does not wait for the slow nodes")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, "2 of 3 needed nodes said yes")
		require.ErrorContains(t, err, "node 4 (n5:6379): had not answered yet")
		time.Sleep(300 * time.Millisecond)
		require.Equal(t, make([]string, 5), c.Owners(), "late SETs are taken back too")
	})
}

// The caller gets the reason of the last decided attempt.
func TestAcquire_CancelledAfterAnAttempt_KeepsItsReason(t *testing.T) {
	for tries, slow := range map[string]time.Duration{"1 attempts": 0, "2 attempts": time.Second} {
		rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
			u := c.User(1, rig.Patient(time.Minute), rig.With(func(o *redlock.Options) {
				o.RetryMin, o.RetryMax = time.Second,
					time.Second
			}))
			c.Occupy(1, 2, 3)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond+slow)
			defer cancel()
			time.AfterFunc(400*time.Millisecond, func() {
				u.OnCommand(rig.Slow("set", slow))
			})
			_, err := u.Acquire(ctx, rig.Key, rig.TTL)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, redlock.ErrHeld)
			if slow > 0 {
				require.ErrorContains(t, err, "at the last of "+tries)
			}
		})
	}
}

func TestAcquire_ContextAlreadyEnded_SendsNothing(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		u := c.User(1)
		u.Each(func(l *rig.Link) {
			l.OnCommand(func(string) error { t.Error("a command was sent"); return nil })
		})
		_, err := u.Acquire(ctx, rig.Key, rig.TTL)
		require.ErrorIs(t, err, context.Canceled)
	})
}

// Commands and replies take 1 to 5 ms, so that each millisecond is another point of an acquire, extension or release.
func TestContextEnds_AtEachPoint_LeavesNoKey(t *testing.T) {
	for after := range 45 {
		rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
			u := c.User(1, rig.Patient(time.Minute))
			u.WarmUp(t)
			for i, l := range u.Links {
				d := time.Duration(i+1) * time.Millisecond
				l.OnCommand(func(string) error { time.Sleep(d); return nil })
				l.OnReply(func(string) error { time.Sleep(6*time.Millisecond - d); return nil })
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(after)*time.Millisecond)
			defer cancel()
			l, err := u.Acquire(ctx, rig.Key, time.Minute)
			if err == nil {
				work := l.Watch(ctx)
				if err = l.Extend(ctx); err == nil {
					require.Equal(t, l.Token(), c.Owners()[2])
				}
				err = errors.Join(err, l.Release(ctx))
				<-work.Done()
			}
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.Equal(t, time.Duration(after)*time.Millisecond, u.Clock.Now(), "it returns at once")
			}
			require.NoError(t, u.Close())
			require.Equal(t, make([]string, 5), c.Owners())
		})
	}
}

// Locks that share clients are as separate as those of two processes.
func TestAcquire_TwoLocksOnOneClient_ExcludeEachOther(t *testing.T) {
	rig.InBubble(t, 3, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		second, err := redlock.New(nodes(t, u.Clients...), redlock.Options{})
		require.NoError(t, err)
		l := u.Must(t)
		_, err = second.TryAcquire(t.Context(), rig.Key, rig.TTL)
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.NoError(t, second.Close())
		require.NoError(t, l.Release(t.Context()), "the other lock's end is not its own")
	})
}

func TestAcquire_WithoutNodeTimeout_WaitsForEveryNode(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, rig.Without(redlock.NodeTimeout))
		u.OnCommand(rig.Slow("set", 300*time.Millisecond), 5)
		began := time.Now()
		l := u.Must(t)
		require.Equal(t, 300*time.Millisecond, time.Since(began))
		require.Equal(t, 688*time.Millisecond, l.Validity())
	})
}

// go-redis repeats a command whose reply was lost, and then finds our own token.
func TestAcquire_OwnTokenAtTheKey_CountsAsYes(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1, rig.Clients(func(o *redis.Options) { o.MaxRetries = 2 }))
		u.WarmUp(t)
		u.Each(func(l *rig.Link) {
			l.OnReply(func(command string) error {
				l.OnReply(nil)
				return io.ErrUnexpectedEOF
			})
		})
		l := u.Must(t)
		require.Equal(t, l.Token(), c.Owners()[0])
	})
}
