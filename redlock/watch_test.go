package redlock

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWatchKeepsTheLease(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		ctx := l.Watch(t.Context())
		for range 100 {
			time.Sleep(ttl / 10)
			require.NoError(t, ctx.Err())
			require.Greater(t, l.Validity(), ttl/2)
		}
		require.NoError(t, l.Release(t.Context()))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrReleased)
	})
}

func TestWatchEndsItsContextBeforeValidity(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		ctx := l.Watch(t.Context())
		time.Sleep(ttl / 10)
		u.each((*link).cut)
		<-ctx.Done()
		require.Equal(t, 20*time.Millisecond, l.Validity(), "2 % of the TTL ahead")
		require.ErrorIs(t, context.Cause(ctx), ErrExpiring)
		require.ErrorIs(t, context.Cause(ctx), ErrNoMajority)
	})
}

// Extensions that hang must not keep the guard from acting.
func TestWatchEndsWhileAnExtensionHangs(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, WithNodeTimeout(time.Minute))
		l := u.must(t)
		u.each(func(l *link) { l.onReply(slow("evalsha", 2*time.Second)) })
		ctx := l.Watch(t.Context())
		<-ctx.Done()
		require.Equal(t, 20*time.Millisecond, l.Validity())
		require.ErrorIs(t, context.Cause(ctx), ErrExpiring)
	})
}

// A lease that is over as watching begins is ended, and not extended: two goroutines
// would decide that between them, one way or the other.
func TestWatchDoesNotExtendWhatEnds(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		time.Sleep(l.Validity() + 20*time.Millisecond)
		for range 100 {
			ctx := l.WatchBy(t.Context(), func(context.Context) error {
				t.Error("it was extended")
				return nil
			})
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), ErrExpiring)
			time.Sleep(time.Nanosecond)
		}
	})
}

func TestWatchTriesAgain(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		ctx := l.Watch(t.Context())
		u.each((*link).cut)
		time.Sleep(600 * time.Millisecond)
		u.each(func(l *link) { l.onCommand(nil) })
		time.Sleep(ttl)
		require.NoError(t, ctx.Err())
		require.Positive(t, l.Validity())
	})
}

// The less validity is left, the sooner it is tried again: a third of the TTL after
// the second failure would be too late here.
func TestWatchTriesEverSooner(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		ctx := l.Watch(t.Context())
		u.each((*link).cut)
		time.Sleep(850 * time.Millisecond)
		u.each(func(l *link) { l.onCommand(nil) })
		time.Sleep(ttl)
		require.NoError(t, ctx.Err())
		require.Positive(t, l.Validity())
	})
}

func TestWatchIsToldOfLoss(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		ctx := l.Watch(t.Context())
		synctest.Wait()
		c.free(1, 2, 3)
		began := time.Now()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		require.Less(t, time.Since(began), ttl/2, "at the first extension, not at the end")
		require.LessOrEqual(t, l.Validity(), time.Duration(0))
	})
}

func TestWatchEndsWhenExtensionsAreUsedUp(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1, WithMaxExtensions(2)).must(t)
		began := time.Now()
		ctx := l.Watch(t.Context())
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrBounded)
		require.Positive(t, l.Validity())
		require.Less(t, time.Since(began), 2*ttl)
	})
}

func TestWatchEndsWithItsParent(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		why := errors.New("enough")
		parent, cancel := context.WithCancelCause(t.Context())
		ctx := l.Watch(parent)
		time.Sleep(ttl / 2)
		cancel(why)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), why)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, u.Close(), "nothing goes on")
		require.Zero(t, time.Since(began))
	})
}

// Extensions that fail prolong the key where they arrive. When the lease is over nobody has
// to wait for those keys to expire, but nobody loses them before.
func TestWatchTakesBackWhatFailedExtensionsProlonged(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		ctx := l.Watch(t.Context())
		u.reach(1, 2)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrExpiring)
		time.Sleep(l.Validity() - time.Nanosecond)
		require.Equal(t, []string{l.Token(), l.Token()}, c.owners()[:2], "it is still held")
		require.Greater(t, c.servers[0].TTL(key), ttl/2)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, []string{"", ""}, c.owners()[:2])
	})
}

func TestWatchTakesBackWhatIsLost(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		ctx := l.Watch(t.Context())
		synctest.Wait()
		c.free(1, 2, 3)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), ErrLost)
		synctest.Wait()
		require.Equal(t, make([]string, 5), c.owners())
	})
}

// What its holder has saved meanwhile is his, and so is what he has given back.
func TestWatchTakesBackNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *Lease)
		left int
	}{
		"extended by its holder": {func(t *testing.T, l *Lease) { require.NoError(t, l.Extend(t.Context())) }, 5},
		"released by its holder": {func(t *testing.T, l *Lease) { require.NoError(t, l.Release(t.Context())) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, cl *cluster) {
				u := cl.user(1)
				l := u.must(t)
				ctx := l.Watch(t.Context())
				u.reach(1, 2)
				<-ctx.Done()
				u.reach(1, 2, 3, 4, 5)
				c.do(t, l)
				synctest.Wait() // a majority has answered; the others may not have been asked
				var sent int
				u.each(func(l *link) { l.onCommand(func(string) error { sent++; return nil }) }, 1)
				time.Sleep(ttl / 2)
				synctest.Wait()
				require.Zero(t, sent)
				held := slices.DeleteFunc(cl.owners(), func(token string) bool { return token == "" })
				require.Len(t, held, c.left)
			})
		})
	}
}

// An extension that was not sent has prolonged nothing.
func TestWatchThatUsedUpItsExtensionsTakesBackNothing(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1, WithMaxExtensions(2))
		l := u.must(t)
		ctx := l.Watch(t.Context())
		<-ctx.Done()
		var sent int
		u.each(func(l *link) { l.onCommand(func(string) error { sent++; return nil }) }, 1)
		time.Sleep(ttl / 2)
		require.Zero(t, sent)
		require.LessOrEqual(t, l.Validity(), time.Duration(0))
	})
}

// What is to end now is not extended once more.
func TestNothingIsExtendedAtTheMarginOfItsEnd(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		l := c.user(1).must(t)
		extended := 0
		w := &watch{lease: l, extend: func(context.Context) error { extended++; return nil }}
		w.ctx, w.cancel = context.WithCancelCause(t.Context())
		defer w.cancel(nil)
		time.Sleep(l.Validity() - 3*w.margin()/2)
		w.keep() // it wakes up after a third of that, with the margin left
		require.Equal(t, w.margin(), l.Validity())
		require.Zero(t, extended)
	})
}
