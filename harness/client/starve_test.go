package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestStarve_WatchdogIsLate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		c.do(Command{Do: DoWatch})
		require.Empty(t, c.do(Command{Do: DoStarve}).Error)
		time.Sleep(ttl * 3 / 2)
		require.Empty(t, c.of(history.TypeInvoke, history.OpExtend))
		require.Empty(t, c.of(history.TypeLost, ""), "what tells the client is a timer, too")
		c.must(history.TypeFail, DoCheck)

		fed := c.do(Command{Do: DoFeed}).Starved
		require.Equal(t, ttl*3/2, fed.Probe)
		require.Equal(t, 2, fed.Timers, "the renewal, and the end of the context")
		require.InDelta(t, ttl*3/2-ttl/3, fed.Latest, float64(ttl/50))
		time.Sleep(time.Millisecond)
		require.Len(t, c.of(history.TypeLost, ""), 1)
	})
}

func TestStarve_WorkGoesOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.do(Command{Do: DoStarve})
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}, Hold: ttl / 10, Think: ttl / 50}})
		time.Sleep(3 * ttl)
		require.Greater(t, len(c.of(history.TypeOK, history.OpWrite)), 10)
		require.Zero(t, c.do(Command{Do: DoFeed}).Starved.Timers)
	})
}

func TestStarve_FedClientStarvesAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		require.Equal(t, "feed: its timers are not late", c.do(Command{Do: DoFeed}).Error)
		for range 2 {
			require.Empty(t, c.do(Command{Do: DoStarve}).Error)
			require.Equal(t, "starve: its timers are late already", c.do(Command{Do: DoStarve}).Error)
			time.Sleep(time.Second)
			require.Equal(t, time.Second, c.do(Command{Do: DoFeed}).Starved.Probe)
		}
	})
}

// A timer that fires all the same proves that timers are not late.
func TestFeed_ProbeFired(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.do(Command{Do: DoStarve})
		c.late.End()
		c.probe = c.clock.newTimer(0, nil)
		time.Sleep(time.Second)
		require.Zero(t, c.do(Command{Do: DoFeed}).Starved.Probe)
	})
}
