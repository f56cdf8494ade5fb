package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// ordering bounds the nanoseconds that the order of commands adds to an operation.
const ordering = 100

func TestClient_OneRound_RecordsEvents(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		c.must(history.TypeOK, DoAcquire, DoRead, DoCheck, DoWrite, DoRead, DoExtend, DoRelease)
		events := c.heard()
		require.Len(t, events, 14)
		token := events[1].Token
		require.Len(t, token, 40)
		for i, e := range events {
			require.Equal(t, "c1", e.Process)
			require.Equal(t, i/2+1, e.ID, "invoke and outcome share an ID")
			require.Equal(t, "k1", e.Key)
			require.Empty(t, e.Reason)
			require.False(t, e.Wall)
			require.Equal(t, []history.Type{history.TypeInvoke, history.TypeOK}[i%2], e.Type)
			if i > 0 {
				require.Equal(t, token, e.Token)
				require.Equal(t, 1, e.Lease)
				require.GreaterOrEqual(t, e.Time, events[i-1].Time)
			}
			believes := i%2 == 1 && (e.Op == history.OpAcquire || e.Op == history.OpExtend)
			require.Equal(t, believes, e.Validity > 0, e.Op)
		}
		require.InDelta(t, int64(ttl-ttl/100-2*time.Millisecond), events[1].Validity, ordering)
		require.Equal(t, "", events[3].Value)
		require.Equal(t, "c1.1", events[7].Value)
		require.Equal(t, "", events[7].Base)
		require.Equal(t, "c1.1", events[9].Value)
	})
}

func TestWrite_SameLease_BaseIsPreviousWrite(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		c.must(history.TypeOK, DoAcquire, DoRead, DoWrite, DoWrite)
		require.Equal(t, "c1.1", c.last().Base)
		c.must(history.TypeOK, DoRelease, DoAcquire, DoWrite)
		require.Equal(t, "", c.last().Base, "a new lease has read nothing yet")
		require.Equal(t, "c1.3", c.last().Value)
	})
}

func TestCommand_NoLease_Fails(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		for _, do := range []Do{DoExtend, DoRelease, DoCheck, DoWrite, DoWatch} {
			m := c.do(Command{Do: do})
			require.Equal(t, string(do)+": the client has had no lease so far: an acquire that succeeds must come first",
				m.Error)
			require.Empty(t, m.Outcome)
		}
		require.ErrorContains(t, c.Send(Command{Do: DoAcquire, Serial: 1}), "want the key")
		require.Contains(t, c.do(Command{Do: DoRead}).Error, "which key?")
		require.Contains(t, c.do(Command{Do: DoCancel}).Error, "no operation is under way")
		require.Contains(t, c.do(Command{Do: DoStop}).Error, "no loop is running")
		require.Empty(t, c.heard(), "what is impossible is not history")

		c.must(history.TypeOK, DoAcquire)
		require.Contains(t, c.do(Command{Do: DoExtend, Key: "k2"}).Error, "no lease on k2")
		c.must(history.TypeOK, DoRelease, DoWrite) // a write after the release belongs to the latest lease
	})
}

func TestCommand_IfHeld_NoLease_IsSkipped(t *testing.T) {
	withClient(t, nil, func(t *testing.T, w *world, c *subject) {
		nothing := func(why string) {
			before := len(c.heard())
			for _, do := range []Do{DoExtend, DoRelease, DoCheck, DoWrite, DoWatch} {
				m := c.do(Command{Do: do, Key: "k1", IfHeld: true})
				require.Empty(t, m.Error, why)
				require.Empty(t, m.Outcome, why)
			}
			require.Len(t, c.heard(), before, why)
		}
		nothing("nothing was acquired")
		for _, do := range []Do{DoAcquire, DoExtend, DoRelease} {
			require.Equal(t, history.TypeOK, c.do(Command{Do: do, Key: "k1", IfHeld: true}).Outcome)
		}
		nothing("it was released")
	})
}

func TestOperation_Fails_RecordsReason(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a := w.client(func(s *Setup) { s.Options.MaxExtensions = 1 })
		b := w.client(func(s *Setup) { s.Options.Tries = 1 })
		a.must(history.TypeOK, DoAcquire, DoExtend)
		a.must(history.TypeFail, DoExtend)
		require.Equal(t, history.ReasonExtensionLimit, a.last().Reason)

		b.must(history.TypeFail, DoAcquire)
		require.Equal(t, history.ReasonHeld, b.last().Reason)
		require.Contains(t, b.last().Error, "held by another")

		time.Sleep(2 * ttl)
		a.must(history.TypeFail, DoRelease)
		require.Equal(t, history.ReasonLost, a.last().Reason)

		a.must(history.TypeOK, DoAcquire)
		w.set(func(s *site) { s.hook = closing }, "n1", "n2")
		b.must(history.TypeFail, DoAcquire)
		require.Equal(t, history.ReasonNoMajority, b.last().Reason)
		a.must(history.TypeInfo, DoRelease) // unknown without replies
		require.Equal(t, history.ReasonNoMajority, a.last().Reason)
	})
}

func TestOperation_WithinOrCancel_EndsIt(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.client(nil), w.client(nil)
		a.must(history.TypeOK, DoAcquire)

		m := b.do(Command{Do: DoAcquire, Key: "k1", Within: 100 * time.Millisecond})
		require.Equal(t, history.TypeFail, m.Outcome)
		require.Equal(t, history.ReasonCancelled, b.last().Reason)
		require.InDelta(t, int64(100*time.Millisecond), b.last().Time, ordering)

		waiting := b.send(Command{Do: DoAcquire, Key: "k1"})
		time.Sleep(50 * time.Millisecond)
		require.Empty(t, b.do(Command{Do: DoCancel}).Error)
		require.Equal(t, history.TypeFail, (<-waiting).Outcome)
		require.Contains(t, b.last().Error, "the caller cancelled")
		require.InDelta(t, int64(150*time.Millisecond), b.last().Time, ordering)
	})
}

func TestClose_QueuedCommands_AreDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.client(nil), w.client(nil)
		a.must(history.TypeOK, DoAcquire)
		first := b.send(Command{Do: DoAcquire, Key: "k1"})
		second := b.send(Command{Do: DoRelease})
		time.Sleep(ttl / 10)
		require.Len(t, b.heard(), 1, "the release waits for the acquire")
		require.NoError(t, b.Close())
		require.Equal(t, history.TypeFail, (<-first).Outcome)
		require.Equal(t, "release: dropped: the client is closing", (<-second).Error)
		require.Len(t, b.heard(), 2)
		require.ErrorContains(t, b.Send(Command{Do: DoRelease, Serial: 9}), "closing")
		token, err := w.sites["n1"].Get("k1")
		require.NoError(t, err)
		require.Equal(t, a.last().Token, token, "the dropped release did nothing")
	})
}

func TestKill_SendsNoMoreMessagesOrCommands(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k2"}, Hold: ttl / 10, Think: ttl / 10}})
		time.Sleep(ttl)
		before := len(c.heard())
		require.Greater(t, before, 10)
		require.NoError(t, c.Kill())
		commands := w.sites["n1"].count("SET") + w.sites["n1"].count("EVALSHA")
		require.NoError(t, c.Close())
		time.Sleep(ttl)
		require.Len(t, c.heard(), before)
		require.Equal(t, commands, w.sites["n1"].count("SET")+w.sites["n1"].count("EVALSHA"))
	})
}

func TestNew_BadSetup_Fails(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Setup)
		says   string
	}{
		"nothing":                    {func(s *Setup) { *s = Setup{} }, "it lacks name, nodes, store, options.ttl"},
		"no such lock":               {func(s *Setup) { s.Lock = "redlok" }, `no lock named "redlok"`},
		"a rule that does not exist": {func(s *Setup) { s.Options.Without = []string{"Majorty"} }, "Majorty"},
		"reads of no fenced store":   {func(s *Setup) { s.ReadsUnfenced = true }, "is for a fenced_store"},
		"two checks at once":         {func(s *Setup) { s.FencedStore, s.CompareStore = true, true }, "exclude each other"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				setup := Setup{Name: "c1", Lock: locks.Reference, Options: locks.Options{TTL: ttl}, Nodes: w.nodes, Store: "store"}
				test.change(&setup)
				_, err := New(setup, Env{Dial: w.dial, Now: w.now, Scheduler: w.scheduler}, func(Message) {})
				require.ErrorContains(t, err, test.says)
			})
		})
	}
}

func TestConnection_ClosedByServer_IsReplaced(t *testing.T) {
	withClient(t, func(s *Setup) { s.Options.Tries = 1 }, func(t *testing.T, w *world, c *subject) {
		c.must(history.TypeOK, DoAcquire, DoWrite, DoRelease)
		w.set(func(s *site) {
			for p := range s.peers {
				p.Close()
			}
		}, "n1", "n2", "n3", "store")
		time.Sleep(time.Nanosecond)
		c.must(history.TypeOK, DoAcquire, DoWrite)
	})
}

func TestAcquire_WallClockLock_MarksValidity(t *testing.T) {
	wallClock := func(s *Setup) { s.Options.Without = []string{"MonotonicClock"} }
	withLease(t, wallClock, func(t *testing.T, w *world, c *subject) {
		require.True(t, c.last().Wall)
		before := c.last().Validity
		require.Empty(t, c.do(Command{Do: DoClock, Clock: &SetClock{Jump: -ttl}}).Error)
		time.Sleep(ttl)
		c.must(history.TypeOK, DoCheck)
		require.Positive(t, before)
	})
}

// Threads share only the client and its lock.
func TestThreads_HaveSeparateLeases(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		held := c.do(Command{Do: DoAcquire, Key: "k1", Thread: "b", Within: ttl / 4})
		require.Equal(t, history.TypeFail, held.Outcome, "the first thread has it")
		require.Contains(t, c.do(Command{Do: DoRelease, Key: "k1", Thread: "b"}).Error, "no lease on k1")
		require.Equal(t, history.TypeOK, c.do(Command{Do: DoAcquire, Key: "k2", Thread: "b"}).Outcome)
		require.Contains(t, c.do(Command{Do: DoRelease, Key: "k2"}).Error, "no lease on k2", "it is the other's")
		c.must(history.TypeOK, DoRelease)
		require.Equal(t, "k1", c.last().Key)
		require.Equal(t, history.TypeOK, c.do(Command{Do: DoRelease, Thread: "b"}).Outcome)
		require.Equal(t, "k2", c.last().Key)
		require.ErrorContains(t, c.Send(Command{Do: DoCancel, Serial: 99, Thread: "b"}), "not to one of its threads")
	})
}

func TestThreads_OneWaits_OthersContinue(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, other := w.client(nil), w.client(nil)
		other.must(history.TypeOK, DoAcquire)
		waits := c.send(Command{Do: DoAcquire, Key: "k1", Within: 10 * ttl})
		began := time.Now()
		require.Equal(t, history.TypeOK, c.do(Command{Do: DoAcquire, Key: "k2", Thread: "b"}).Outcome)
		require.Less(t, time.Since(began), ttl/4)
		require.Empty(t, waits, "the first thread still waits")
		other.must(history.TypeOK, DoRelease)
		require.Equal(t, history.TypeOK, (<-waits).Outcome)
	})
}
