package client

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
)

// Held steps resume in key order.
func TestPause_HeldSteps_ResumeInOrder(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			events := scheduler.New()
			defer events.End()
			p := &hold{scheduler: events}
			p.begin()
			var mu sync.Mutex
			var done []int
			for _, i := range []int{2, 0, 3, 1} {
				go func() {
					p.wait(orderConnections, i)
					mu.Lock()
					defer mu.Unlock()
					done = append(done, i)
				}()
			}
			time.Sleep(time.Second)
			require.Empty(t, done)
			p.end()
			p.begin() // no step resumes between the two
			time.Sleep(time.Second)
			require.Empty(t, done)
			p.end()
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, []int{0, 1, 2, 3}, done)
		})
	}
}

func TestPause_ClientTakesNoStep(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}, Hold: ttl / 10, Think: ttl / 50}})
		time.Sleep(ttl)
		c.pause.begin()
		time.Sleep(time.Nanosecond)
		events, sets := len(c.heard()), w.sites["n1"].count("SET")
		time.Sleep(5 * ttl)
		require.Len(t, c.heard(), events)
		require.Equal(t, sets, w.sites["n1"].count("SET"))
		c.pause.end()
		time.Sleep(ttl)
		require.Greater(t, len(c.heard()), events+10)
	})
}

func TestClose_PausedClient_Resumes(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		c.pause.begin()
		c.send(Command{Do: DoRelease})
		require.NoError(t, c.Close())
	})
}

func TestStarve_WatchdogIsLate(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		c.do(Command{Do: DoWatch})
		require.Empty(t, c.do(Command{Do: DoStarve}).Error)
		time.Sleep(ttl * 3 / 2)
		require.Empty(t, c.of(history.TypeInvoke, history.OpExtend))
		require.Empty(t, c.of(history.TypeLost, ""), "what tells the client is a timer, too")
		c.must(history.TypeFail, DoCheck)

		fed := c.do(Command{Do: DoFeed}).Starved
		require.Equal(t, ttl*3/2, fed.Probe)
		require.Equal(t, 2, fed.Timers, "the renewal, and the look at the clock 100 ms after the acquire")
		require.InDelta(t, ttl*3/2-100*time.Millisecond, fed.Latest, float64(ttl/50))
		time.Sleep(time.Millisecond)
		require.Len(t, c.of(history.TypeLost, ""), 1)
	})
}

func TestStarve_FedClientStarvesAgain(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		require.Equal(t, "feed: its timers are not late", c.do(Command{Do: DoFeed}).Error)
		for range 2 {
			require.Empty(t, c.do(Command{Do: DoStarve}).Error)
			require.Equal(t, "starve: its timers are late already", c.do(Command{Do: DoStarve}).Error)
			time.Sleep(time.Second)
			require.Equal(t, time.Second, c.do(Command{Do: DoFeed}).Starved.Probe)
		}
	})
}

// A probe that fires shows that timers are not late.
func TestFeed_ProbeFired(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		c.do(Command{Do: DoStarve})
		c.lockClock.late.end()
		c.lockClock.probe = c.clock.newTimer(0, nil)
		time.Sleep(time.Second)
		require.Zero(t, c.do(Command{Do: DoFeed}).Starved.Probe)
	})
}
