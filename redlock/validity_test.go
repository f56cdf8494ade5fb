package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Validity counts from before the first command goes out, of an extension too: a client that is held up
// at its clock, whenever that is, never believes for longer than the keys are there.
func TestValidityDoesNotOutliveTheKeys(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, c *cluster) {
		clock := &slowClock{bubbleClock{origin: time.Now()}}
		l, err := c.user(1, WithClock(clock)).TryAcquire(t.Context(), key, ttl)
		require.NoError(t, err)
		bounded := func() {
			validity := l.Validity()
			for _, s := range c.servers {
				require.LessOrEqual(t, validity, s.TTL(key))
			}
		}
		bounded()
		require.NoError(t, l.Extend(t.Context()))
		bounded()
	})
}

// slowClock holds up whoever reads it, before it is read.
type slowClock struct{ bubbleClock }

func (c *slowClock) Now() time.Duration {
	time.Sleep(100 * time.Millisecond)
	return c.bubbleClock.Now()
}

// A majority that answers within the TTL, but not before what is set aside for clock
// drift, is too late.
func TestTooLateByTheMargin(t *testing.T) {
	for late, granted := range map[time.Duration]bool{ttl - 13*time.Millisecond: true, ttl - 12*time.Millisecond: false,
		ttl - time.Millisecond: false} {
		t.Run(late.String(), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, c *cluster) {
				u := c.user(1, WithNodeTimeout(time.Minute))
				u.warmUp(t)
				u.each(func(l *link) { l.onReply(slow("set", late)) })
				_, err := u.TryAcquire(t.Context(), key, ttl)
				if granted {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, ErrTooLate)
			})
		})
	}
}
