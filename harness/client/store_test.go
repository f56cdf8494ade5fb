package client

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// late lets a hold the lock, sleep past its deadline, and b acquire, read and
// write; then a may do what it does.
func late(w *world, change func(*Setup)) (a, b *subject) {
	a, b = w.client(change), w.client(change)
	a.must(history.TypeOK, DoAcquire, DoRead)
	time.Sleep(2 * ttl)
	b.must(history.TypeOK, DoAcquire, DoRead, DoWrite)
	return a, b
}

func TestAPlainStoreAcceptsTheSleepersWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := late(w, nil)
		a.must(history.TypeOK, DoWrite)
		require.Equal(t, "", a.last().Base)
		b.must(history.TypeOK, DoRead)
		require.Equal(t, "c1.1", b.last().Value, "b's write is lost")
	})
}

func TestAFencedStoreRejectsTheOlderToken(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := late(w, func(s *Setup) { s.Lock, s.FencedStore = "redlock-fenced", true })
		a.must(history.TypeFail, DoWrite)
		require.Equal(t, history.ReasonStale, a.last().Reason)
		require.Equal(t, int64(1), a.last().Fence)
		require.Equal(t, int64(2), b.last().Fence)
		a.must(history.TypeFail, DoRead)
		require.Equal(t, history.ReasonStale, a.last().Reason)
		b.must(history.TypeOK, DoRead)
		require.Equal(t, "c2.1", b.last().Value)
	})
}

func TestAReadClaimsTheTokenAtAFencedStore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		fenced := func(s *Setup) { s.Lock, s.FencedStore = "redlock-fenced", true }
		a, b, onlooker := w.client(fenced), w.client(fenced), w.client(fenced)
		a.must(history.TypeOK, DoAcquire)
		time.Sleep(2 * ttl)
		b.must(history.TypeOK, DoAcquire)
		a.must(history.TypeOK, DoWrite) // the store has not heard of b's token
		b.must(history.TypeOK, DoRead)
		a.must(history.TypeFail, DoWrite)
		onlooker.must(history.TypeOK, DoRead) // a look without a lease claims nothing
		b.must(history.TypeOK, DoWrite)
	})
}

func TestAStoreThatReadsTellNoTokenAcceptsTheOlderWrite(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		unaware := func(s *Setup) { s.Lock, s.FencedStore, s.ReadsUnfenced = "redlock-fenced", true, true }
		a, b := w.client(unaware), w.client(unaware)
		a.must(history.TypeOK, DoAcquire, DoRead)
		time.Sleep(2 * ttl)
		b.must(history.TypeOK, DoAcquire, DoRead)
		require.Zero(t, b.last().Fence, "the store is told no token")
		a.must(history.TypeOK, DoWrite)
		b.must(history.TypeOK, DoWrite)
		a.must(history.TypeFail, DoWrite)
		require.Equal(t, history.ReasonStale, a.last().Reason)
	})
}

func TestAComparingStoreRejectsAStaleBase(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := late(w, func(s *Setup) { s.CompareStore = true })
		a.must(history.TypeFail, DoWrite)
		require.Equal(t, history.ReasonStale, a.last().Reason)
		require.Contains(t, a.last().Error, `not "" any more`)
		b.must(history.TypeOK, DoWrite)
	})
}

func TestACheckThatFailsKeepsTheClientFromWriting(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, _ := late(w, nil)
		a.must(history.TypeFail, DoCheck)
		require.Equal(t, history.ReasonExpired, a.last().Reason)
		sets := w.sites["store"].count("SET")
		a.must(history.TypeFail, DoWrite)
		require.Equal(t, history.ReasonExpired, a.last().Reason)
		require.Equal(t, sets, w.sites["store"].count("SET"), "the store was not touched")

		time.Sleep(2 * ttl)
		a.must(history.TypeOK, DoAcquire, DoWrite) // a new lease, a new chance
	})
}

func TestTheFateOfAWrite(t *testing.T) {
	tests := []struct {
		name    string
		break_  func(*site)
		outcome history.Type
		applied bool
	}{
		{"the reply is lost", func(s *site) {
			s.hook = func(p *server.Peer, cmd string, args ...string) bool {
				if cmd == "SET" {
					_ = s.Set(args[0], args[1])
					p.Close()
				}
				return cmd == "SET"
			}
		}, history.TypeInfo, true},
		{"the connection closes first", func(s *site) {
			s.hook = func(p *server.Peer, cmd string, args ...string) bool { p.Close(); return true }
		}, history.TypeInfo, false},
		{"the server refuses", func(s *site) {
			s.hook = func(p *server.Peer, cmd string, args ...string) bool {
				if cmd == "SET" {
					p.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
				}
				return cmd == "SET"
			}
		}, history.TypeFail, false},
		{"the server cannot be reached", func(s *site) { s.down = true }, history.TypeFail, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.client(nil)
				c.must(history.TypeOK, DoAcquire)
				w.sites["store"].set(test.break_)
				c.must(test.outcome, DoWrite)
				require.Equal(t, history.ReasonOther, c.last().Reason)
				require.NotEmpty(t, c.last().Error)
				require.Equal(t, test.applied, w.sites["store"].Exists("value:k1"))
			})
		})
	}
}

func TestAWriteThatOutlastsItsBoundIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		w.sites["store"].set(func(s *site) {
			s.hook = func(*server.Peer, string, ...string) bool { time.Sleep(ttl / 2); return false }
		})
		m := c.do(Command{Do: DoWrite, Within: ttl / 4})
		require.Equal(t, history.TypeInfo, m.Outcome)
		c.must(history.TypeOK, DoWrite) // without a bound it is waited for
	})
}

func TestAReadWithoutTheStoreFails(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		w.sites["store"].set(func(s *site) { s.down = true })
		c.must(history.TypeFail, DoRead)
	})
}
