package redlock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/rig"
)

func TestWatch_ExtendsTheLeaseUntilItsRelease(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1).Must(t)
		ctx := l.Watch(t.Context())
		for range 100 {
			time.Sleep(rig.TTL / 10)
			require.NoError(t, ctx.Err())
			require.Greater(t, l.Validity(), rig.TTL/2)
		}
		require.NoError(t, l.Release(t.Context()))
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrReleased)
	})
}

func TestWatch_ExtensionsFailOrHang_EndsContextBeforeValidity(t *testing.T) {
	type row struct {
		fault func(*rig.Link)
		cause error
	}
	rig.Cases(t, 5, map[string]row{
		"extensions fail": {(*rig.Link).Cut, redlock.ErrNoMajority},
		"extensions hang": {func(l *rig.Link) { l.OnReply(rig.Slow("evalsha", 2*time.Second)) }, redlock.ErrExpiring},
	}, func(t *testing.T, cl *rig.Cluster, c row) {
		u := cl.User(1, rig.Patient(time.Minute))
		l := u.Must(t)
		ctx := l.Watch(t.Context())
		time.Sleep(rig.TTL / 10)
		u.Each(c.fault)
		<-ctx.Done()
		require.Equal(t, 20*time.Millisecond, l.Validity(), "2 % of the TTL ahead")
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrExpiring)
		require.ErrorIs(t, context.Cause(ctx), c.cause)
	})
}

// The order of the two goroutines must not matter.
func TestWatch_LeaseOver_IsNotExtended(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1).Must(t)
		time.Sleep(l.Validity() + 20*time.Millisecond)
		for range 100 {
			ctx := l.WatchBy(t.Context(), func(context.Context) error {
				t.Error("it was extended")
				return nil
			})
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), redlock.ErrExpiring)
			time.Sleep(time.Nanosecond)
		}
	})
}

// A third of the TTL after the second failure would be too late for the longer outage.
func TestWatch_ExtensionsFail_RetriesSooner(t *testing.T) {
	for _, outage := range []time.Duration{600 * time.Millisecond, 850 * time.Millisecond} {
		rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
			u := c.User(1)
			l := u.Must(t)
			ctx := l.Watch(t.Context())
			u.Each((*rig.Link).Cut)
			time.Sleep(outage)
			u.OnCommand(nil)
			time.Sleep(rig.TTL)
			require.NoError(t, ctx.Err(), outage)
			require.Positive(t, l.Validity())
		})
	}
}

func TestWatch_LeaseLost_EndsContext(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1).Must(t)
		ctx := l.Watch(t.Context())
		synctest.Wait()
		c.Free(1, 2, 3)
		began := time.Now()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
		require.Less(t, time.Since(began), rig.TTL/2, "at the first extension, not at the end")
		require.LessOrEqual(t, l.Validity(), time.Duration(0))
		synctest.Wait()
		require.Equal(t, make([]string, 5), c.Owners(), "the remaining keys are released")
	})
}

func TestWatch_ExtensionsUsedUp_EndsContext(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1, rig.With(func(o *redlock.Options) { o.MaxExtensions = 2 })).Must(t)
		began := time.Now()
		ctx := l.Watch(t.Context())
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrBounded)
		require.Positive(t, l.Validity())
		require.Less(t, time.Since(began), 2*rig.TTL)
	})
}

func TestWatch_ParentEnds_EndsContext(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l := u.Must(t)
		why := errors.New("enough")
		parent, cancel := context.WithCancelCause(t.Context())
		ctx := l.Watch(parent)
		time.Sleep(rig.TTL / 2)
		cancel(why)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), why)
		synctest.Wait()
		began := time.Now()
		require.NoError(t, u.Close(), "nothing is running")
		require.Zero(t, time.Since(began))
	})
}

// Timers stand still while a machine is suspended: the context must not live on for the rest of the timer.
func TestWatch_MachineSuspendedPastValidity_EndsContextSoonAfterResume(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		u := c.User(1)
		l, err := u.TryAcquire(t.Context(), rig.Key, time.Minute)
		require.NoError(t, err)
		ctx := l.Watch(t.Context())
		time.Sleep(time.Second)
		u.Clock.Suspend(time.Hour)
		resumed := time.Now()
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrExpiring)
		require.LessOrEqual(t, time.Since(resumed), 100*time.Millisecond)
	})
}

func TestWatch_LeaseReleased_EndsContextWithThatCause(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1).Must(t)
		require.NoError(t, l.Release(t.Context()))
		var all []context.Context
		for range 1000 {
			all = append(all, l.Watch(t.Context()))
		}
		for _, ctx := range all {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), redlock.ErrReleased)
		}
	})
}

// A loss ends the validity, so it ends every context that lasts no longer than that.
func TestWatch_AnotherCallerLearnsOfTheLoss_EndsContextAtOnce(t *testing.T) {
	rig.InBubble(t, 5, func(t *testing.T, c *rig.Cluster) {
		l := c.User(1).Must(t)
		ctx := l.Watch(t.Context())
		synctest.Wait()
		c.Free(1, 2, 3)
		require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrLost)
		synctest.Wait()
		require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
		again := l.Watch(t.Context())
		<-again.Done()
		require.ErrorIs(t, context.Cause(again), redlock.ErrLost)
	})
}
