package client

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/redlock"
)

func TestLoop_RunsUntilStop(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		loop := &Loop{Keys: []string{"k1", "k2"}, Hold: ttl / 10, Think: ttl / 20}
		a, b := w.client(nil), w.client(nil)
		ended := a.send(Command{Do: DoLoop, Loop: loop})
		b.send(Command{Do: DoLoop, Loop: loop})
		time.Sleep(20 * ttl)
		require.Empty(t, a.do(Command{Do: DoStop}).Error)
		require.Empty(t, (<-ended).Error)
		rounds := len(a.of(history.TypeOK, history.OpAcquire))
		require.Greater(t, rounds, 50)
		require.Len(t, a.of(history.TypeOK, history.OpRelease), rounds, "the present round is finished")
		require.Len(t, a.of(history.TypeOK, history.OpWrite), rounds)
		keys := map[string]int{}
		for _, e := range a.of(history.TypeOK, history.OpAcquire) {
			keys[e.Key]++
		}
		require.Greater(t, keys["k1"], rounds/4)
		require.Greater(t, keys["k2"], rounds/4)

		heard := len(a.heard())
		time.Sleep(ttl)
		require.Len(t, a.heard(), heard)
		require.Contains(t, a.do(Command{Do: DoStop}).Error, "no loop is running")
	})
}

func TestLoop_StopBeforeBegin_EndsIt(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		c.pause.begin()
		ended := c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}}})
		c.send(Command{Do: DoStop})
		c.pause.end()
		require.Empty(t, (<-ended).Error)
	})
}

func TestLoop_HoldOutlastsLease_DoesNotWrite(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}, Hold: 4 * ttl, Think: ttl}})
		time.Sleep(20 * ttl)
		checks := c.of(history.TypeFail, history.OpCheck)
		require.NotEmpty(t, checks)
		for _, e := range checks {
			require.Equal(t, history.ReasonExpired, e.Reason)
		}
		require.Empty(t, c.of(history.TypeInvoke, history.OpWrite))
		require.Len(t, c.of(history.TypeOK, history.OpRelease), len(checks), "within the margin the keys are still there")
	})
}

func TestLoop_LockUnavailable_Continues(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.set(func(s *site) { s.down = true }, w.nodes...)
		c := w.client(func(s *Setup) { s.Options.Tries = 1 })
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}, Hold: ttl / 100}})
		time.Sleep(ttl)
		failed := len(c.of(history.TypeFail, history.OpAcquire))
		require.Positive(t, failed)
		require.Less(t, failed, 100, "it does not ask without end in one instant")
		w.set(func(s *site) { s.down = false }, w.nodes...)
		time.Sleep(ttl)
		require.NotEmpty(t, c.of(history.TypeOK, history.OpAcquire))
	})
}

func TestLoop_LockRefuses_Ends(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.sites["n2"], w.sites["n3"] = w.sites["n1"], w.sites["n1"]
		c := w.client(nil)
		c.must(history.TypeFail, DoAcquire)
		require.Equal(t, history.ReasonRefused, c.last().Reason)
		m := c.do(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k1"}}})
		require.Contains(t, m.Error, "the lock refuses")
		require.Contains(t, m.Error, "listed twice")
	})
}

// The leases in the history cover exactly the time for which the watchdog kept the lock.
func TestWatch_RecordsExtensions(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		m := c.do(Command{Do: DoWatch})
		require.Empty(t, m.Error)
		require.Empty(t, m.Outcome)
		time.Sleep(5 * ttl)
		until := c.of(history.TypeOK, history.OpAcquire)[0]
		end := until.Time + until.Validity
		for _, e := range c.of(history.TypeOK, history.OpExtend) {
			require.Less(t, e.Time, end, "no hole in the belief")
			require.Equal(t, 1, e.Lease)
			end = e.Time + e.Validity
		}
		require.Greater(t, end, int64(5*ttl))
		first := c.of(history.TypeInvoke, history.OpExtend)[0]
		require.Equal(t, until.Time+until.Validity/3, first.Time, "an extension is in the history when it is made")
		require.Len(t, c.of(history.TypeInvoke, history.OpExtend), len(c.of(history.TypeOK, history.OpExtend)))
		c.must(history.TypeOK, DoRelease)
		time.Sleep(2 * ttl)
		require.Empty(t, c.of(history.TypeLost, ""), "a release is no loss")
	})
}

// The failed extension is in the history, too.
func TestWatch_LeaseLost_IsRecordedOnce(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		c.do(Command{Do: DoWatch})
		time.Sleep(time.Nanosecond) // the third SET may still be pending
		w.sites["n1"].FlushAll()
		w.sites["n2"].FlushAll()
		time.Sleep(3 * ttl)
		failed, lost := c.of(history.TypeFail, history.OpExtend), c.of(history.TypeLost, "")
		require.Len(t, failed, 1)
		require.Equal(t, history.ReasonLost, failed[0].Reason)
		require.Len(t, lost, 1)
		require.Equal(t, failed[0].Time, lost[0].Time)
		require.Equal(t, 1, lost[0].Lease)
		require.Less(t, lost[0].Time, int64(ttl), "before its validity was over")
		require.Contains(t, lost[0].Error, redlock.ErrLost.Error())
		c.must(history.TypeFail, DoCheck)
		require.Equal(t, history.ReasonLost, c.last().Reason)
	})
}

func TestWatch_LockWithoutWatchdog_Fails(t *testing.T) {
	withLease(t, func(s *Setup) { s.Lock = "single" }, func(t *testing.T, w *world, c *subject) {
		require.Contains(t, c.do(Command{Do: DoWatch}).Error, "the lock single has no watchdog")
	})
}

func TestClose_DuringWatch_DoesNotHang(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		c.do(Command{Do: DoWatch})
		require.NoError(t, c.Close())
		require.Empty(t, c.of(history.TypeLost, ""))
		time.Sleep(time.Nanosecond)
		require.ErrorIs(t, context.Cause(c.ctx), errClosing)
	})
}
