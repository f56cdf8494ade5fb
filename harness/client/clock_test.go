package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

func newTestClock(t *testing.T) *clock {
	start, s := time.Now(), scheduler.New()
	t.Cleanup(s.End)
	return newClock(func() int64 { return int64(time.Since(start)) }, s, nil)
}

// An unchanged clock shows true time, a jump moves only the wall clock, and a rate changes both.
func TestClock_JumpAndRate(t *testing.T) {
	for name, c := range map[string]struct {
		sets            []SetClock // each after a second
		monotonic, wall time.Duration
	}{
		"not set":                {nil, time.Second, time.Second},
		"a jump":                 {[]SetClock{{Jump: -3 * time.Second}}, 2 * time.Second, -time.Second},
		"a rate":                 {[]SetClock{{Rate: 0.5}}, 3 * time.Second / 2, 3 * time.Second / 2},
		"a jump leaves the rate": {[]SetClock{{Rate: 0.5}, {Jump: time.Second}}, 2 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Hour)
				began, clock := time.Now(), newTestClock(t)
				time.Sleep(time.Second)
				for _, s := range c.sets {
					clock.set(s)
					time.Sleep(time.Second)
				}
				require.Equal(t, c.monotonic, clock.Now())
				require.Equal(t, c.wall, clock.Wall().Sub(began), "servers compare dates with theirs")
			})
		})
	}
}

func TestTimer_RateChanges_FollowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newTestClock(t)
		c.set(SetClock{Rate: 2})
		start := time.Now()
		<-c.NewTimer(time.Second).C()
		require.Equal(t, time.Second/2, time.Since(start))

		timer := c.NewTimer(time.Second)
		time.Sleep(time.Second / 4) // half of the timer's duration
		c.set(SetClock{Rate: 0.1})
		<-timer.C()
		require.Equal(t, time.Second/2+time.Second/4+5*time.Second, time.Since(start))
	})
}

// TestClock_RandomChanges_MonotonicNeverSteps also requires that a timer never fires early, and fires within a
// nanosecond of its time on that clock.
func TestClock_RandomChanges_MonotonicNeverSteps(t *testing.T) {
	type step struct {
		Set  SetClock
		Wait time.Duration
	}
	steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{
			Set: SetClock{Jump: time.Duration(rapid.Int64Range(-1e10, 1e10).Draw(t, "jump")),
				Rate: rapid.Float64Range(0.1, 10).Draw(t, "rate")},
			Wait: time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "wait")),
		}
	}), 1, 10)
	rapid.Check(t, func(rt *rapid.T) {
		all := steps.Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			c := newTestClock(t)
			for _, s := range all {
				before, due := c.Now(), c.Now()+s.Wait
				c.set(s.Set)
				require.Equal(t, before, c.Now())
				<-c.NewTimer(s.Wait).C()
				require.GreaterOrEqual(t, c.Now(), due)
				require.LessOrEqual(t, c.Now(), due+time.Duration(s.Set.Rate)+1)
			}
		})
	})
}

func TestSetClock_RecordsReadings(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		time.Sleep(time.Second)
		require.Empty(t, c.do(Command{Do: DoClock, Clock: &SetClock{Jump: time.Minute, Rate: 1.5}}).Error)
		events := c.heard()
		require.Len(t, events, 2)
		require.Equal(t, &history.Clock{Reading: int64(time.Second), Rate: 1.5}, events[0].Clock)
		require.Equal(t, &history.Clock{Reading: int64(time.Second + time.Minute), Rate: 1.5, Wall: true}, events[1].Clock)
		for _, e := range events {
			require.Equal(t, history.TypeClock, e.Type)
			require.Equal(t, int64(time.Second), e.Time)
		}
	})
}
