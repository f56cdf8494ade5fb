package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
)

func TestAGateHoldsUntilItIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Pauser
		start := time.Now()
		g.Wait(time.Hour)
		require.Zero(t, time.Since(start), "without a pause there is no lag")
		g.Pause()
		g.Pause()
		time.AfterFunc(time.Second, g.Resume)
		g.Wait(5)
		require.Equal(t, time.Second+5, time.Since(start))
		(*Pauser)(nil).Wait(0)
	})
}

func TestAGateThatShutsInTheLagHoldsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Pauser
		start := time.Now()
		g.Pause()
		time.AfterFunc(time.Second, func() { g.Resume(); g.Pause() })
		time.AfterFunc(time.Minute, g.Resume)
		g.Wait(5)
		require.Equal(t, time.Minute+5, time.Since(start))
	})
}

func TestAPausedClientTakesNoStep(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}, Hold: ttl / 10, Think: ttl / 50}})
		time.Sleep(ttl)
		c.pauser.Pause()
		synctest.Wait()
		events, sets := len(c.heard()), w.sites["n1"].count("SET")
		time.Sleep(5 * ttl)
		require.Len(t, c.heard(), events)
		require.Equal(t, sets, w.sites["n1"].count("SET"))
		c.pauser.Resume()
		time.Sleep(ttl)
		require.Greater(t, len(c.heard()), events+10)
	})
}

// TestAPauseInAcquire is Kleppmann's question, settled by antirez's answer: the
// replies are in, the client sleeps past the deadline, then reads them.
func TestAPauseInAcquire(t *testing.T) {
	tests := []struct {
		without []string
		outcome history.Type
		reason  string
	}{
		{nil, history.TypeFail, history.ReasonTooLate},
		{[]string{"ElapsedCheck"}, history.TypeOK, ""},
	}
	for _, test := range tests {
		inBubble(t, func(t *testing.T, w *world) {
			c := w.client(func(s *Setup) { s.Options.Tries, s.Options.Without = 1, test.without })
			for _, n := range w.nodes {
				w.sites[n].set(func(s *site) {
					s.hook = func(_ *server.Peer, cmd string, _ ...string) bool {
						if cmd == "SET" {
							time.Sleep(10 * time.Millisecond) // the way back
						}
						return false
					}
				})
			}
			done := c.send(Command{Do: DoAcquire, Key: "k1"})
			time.Sleep(5 * time.Millisecond)
			c.pauser.Pause()
			time.Sleep(2 * ttl)
			require.Len(t, c.heard(), 1)
			require.Equal(t, 1, w.sites["n3"].count("SET"))
			c.pauser.Resume()
			require.Equal(t, test.outcome, (<-done).Outcome)
			require.Equal(t, test.reason, c.last().Reason)
			require.GreaterOrEqual(t, c.last().Time, int64(2*ttl))
		})
	}
}

func TestClosingAPausedClientCarriesItOn(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		c.pauser.Pause()
		c.send(Command{Do: DoRelease})
		require.NoError(t, c.Close())
	})
}
