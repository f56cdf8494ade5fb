package redlock

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOptionsTakeTheirLimits(t *testing.T) {
	for what, option := range map[string]Option{"no drift": WithDrift(0), "no limit of tries": WithTries(0),
		"no delay": WithRetryDelay(0, 0), "one extension": WithMaxExtensions(1)} {
		require.NoError(t, option(&options{}), what)
	}
	for what, option := range map[string]Option{"drift below 0": WithDrift(-0.01), "all drift": WithDrift(1), "tries below 0": WithTries(-1),
		"a delay below 0": WithRetryDelay(-1, 0), "no range": WithRetryDelay(2, 1), "no extension": WithMaxExtensions(0)} {
		require.Error(t, option(&options{}), what)
	}
}

// A TTL that the margin uses up leaves no validity.
func TestATTLIsLongerThanItsMargin(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		u := c.user(1, WithDrift(0))
		_, err := u.TryAcquire(t.Context(), key, precision)
		require.ErrorContains(t, err, "leaves no validity")
		_, err = u.TryAcquire(t.Context(), key, precision+time.Millisecond)
		require.NoError(t, err)

		_, err = c.user(2, Without(DriftMargin)).TryAcquire(t.Context(), "another", time.Millisecond)
		require.NoError(t, err, "the shortest TTL that there is")
	})
}

// An extension that comes as its validity ends comes too late.
func TestAnExtensionComesTooLateAsItEnds(t *testing.T) {
	for late, granted := range map[time.Duration]bool{ttl - 13*time.Millisecond: true, ttl - 12*time.Millisecond: false} {
		inBubble(t, 3, func(t *testing.T, c *cluster) {
			u := c.user(1, WithNodeTimeout(time.Minute))
			l := u.must(t)
			require.NoError(t, l.Extend(t.Context())) // now the servers know the script
			u.each(func(l *link) { l.onReply(slow("evalsha", late)) })
			if err := l.Extend(t.Context()); granted {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrTooLate)
			}
		})
	}
}

// Without the rule a release deletes by the key alone, and still knows whether there was one.
func TestAPlainDeleteKnowsWhatItDeleted(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		u := c.user(1, Without(CompareAndDelete))
		require.NoError(t, u.must(t).Release(t.Context()))
		l := u.must(t)
		for _, s := range c.servers {
			s.FlushAll()
		}
		require.ErrorIs(t, l.Release(t.Context()), ErrLost)
	})
}

// A server that has long been silent is asked as often as there is room for, and no more.
func TestASilentServerIsAskedSoOften(t *testing.T) {
	l := line{silent: hung, tries: 2*triesAtOnce - 1, callers: new(atomic.Int32)}
	l.callers.Store(2)
	require.True(t, l.admit())
	require.False(t, l.admit())
}

// The last extension that is allowed is allowed, the next is not.
func TestExtensionsAreCounted(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		l := c.user(1, WithMaxExtensions(2)).must(t)
		require.NoError(t, l.Extend(t.Context()))
		require.NoError(t, l.Extend(t.Context()))
		require.ErrorIs(t, l.Extend(t.Context()), ErrBounded)
	})
}

// What came too late says how late, whatever the clock reads.
func TestTooLateSaysHowLate(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		u := c.user(1, WithNodeTimeout(time.Minute))
		l := u.must(t)
		require.NoError(t, l.Extend(t.Context())) // now the servers know the script
		time.Sleep(ttl / 2)
		u.each(func(l *link) { l.onReply(slow("evalsha", ttl)) })
		err := l.Extend(t.Context())
		require.ErrorIs(t, err, ErrTooLate)
		require.ErrorContains(t, err, "1s of a TTL of 1s had passed")

		time.Sleep(time.Hour)
		u.each(func(l *link) { l.onReply(slow("set", ttl)) })
		_, err = u.TryAcquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, ErrTooLate)
		require.ErrorContains(t, err, "1s of a TTL of 1s had passed")
	})
}

// As many nodes that say no as make a majority impossible mean that another has the lock; with one less, and
// the others silent, nobody knows.
func TestWhatABallotMeans(t *testing.T) {
	r := &Redlock{nodes: make([]*node, 5), options: options{}, need: 3}
	ballot := func(answers ...vote) *ballot {
		b := &ballot{need: 3, majority: 3, votes: make([]answer, 5)}
		b.counts[pending] = 5
		for i, v := range answers {
			b.count(answer{node: i, vote: v})
		}
		return b
	}
	l := &Lease{lock: r}
	require.Equal(t, ErrNoMajority, l.judge(ballot(no, no, failed, failed, failed)))
	require.Equal(t, ErrHeld, l.judge(ballot(no, no, no, failed, failed)))
	require.Equal(t, ErrHeld, l.judge(ballot(yes, yes, no, no, failed)))

	require.True(t, ballot(no, no, no).agreed(), "three of five")
	require.False(t, ballot(no, no, yes).agreed())
	require.False(t, ballot(yes, yes, no, no).agreed())
	require.True(t, ballot(yes, yes, no, no, failed).agreed(), "nothing is left to come")
}

func TestErrorsAreShort(t *testing.T) {
	require.Equal(t, `held by token "123456789012"`, heldBy{"123456789012"}.Error())
	require.Equal(t, `held by token "123456789012"...`, heldBy{"1234567890123"}.Error())
	require.NotContains(t, (&AttemptError{Op: "acquire", Key: key, Tries: 1}).Error(), "attempts")
	require.Contains(t, (&AttemptError{Op: "acquire", Key: key, Tries: 2}).Error(), " at the last of 2 attempts")
	twins := duplicate(&node{index: 2}, &node{index: 1}, "are one server").Error()
	require.Less(t, strings.Index(twins, "nodes 1"), strings.Index(twins, "and 2"), twins)
}

// A release that fails is tried again four times, by when half of the TTL and almost all of it have passed.
func TestAReleaseIsTriedSoOften(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		l := u.must(t)
		var tries atomic.Int32
		u.each(func(l *link) {
			l.onCommand(func(command string) error {
				if !strings.HasPrefix(command, "eval") {
					return nil
				}
				tries.Add(1)
				return io.ErrUnexpectedEOF
			})
		}, 5)
		require.NoError(t, l.Release(t.Context()))
		for _, upTo := range []struct {
			part  time.Duration // of sixteen of the TTL, all together
			tries int32
		}{{0, 1}, {1, 2}, {3, 3}, {7, 4}, {15, 5}, {64, 5}} {
			time.Sleep(time.Until(u.clock.origin.Add(upTo.part*ttl/16 + time.Millisecond)))
			require.Equal(t, upTo.tries, tries.Load(), upTo.part)
		}
	})
}

// A SET that fails after the release was there, and found nothing, may land all the same: the release is tried again.
func TestASetThatFailedAfterTheReleaseMayLand(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, c *cluster) {
		u := c.user(1)
		u.warmUp(t)
		u.each(func(l *link) {
			l.onCommand(func(command string) error {
				if command != "set" {
					return nil
				}
				time.Sleep(10 * time.Millisecond)
				return io.ErrUnexpectedEOF
			})
		}, 5)
		l, err := u.TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		require.NoError(t, l.Release(t.Context()))
		time.Sleep(11 * time.Millisecond)
		require.NoError(t, c.servers[4].Set(key, l.Token())) // it lands now
		time.Sleep(ttl / 8)
		require.Empty(t, c.owners()[4])
	})
}
