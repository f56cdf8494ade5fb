package client

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

// After a read with a token, writes with older tokens are rejected. If reads send no token, they are accepted until a
// newer one has written.
func TestFencedStore_ReadClaimsItsToken(t *testing.T) {
	for _, unfenced := range []bool{false, true} {
		inBubble(t, func(t *testing.T, w *world) {
			fenced := func(s *Setup) { s.Lock, s.FencedStore, s.ReadsUnfenced = "redlock-fenced", true, unfenced }
			a, b, onlooker := w.client(fenced), w.client(fenced), w.client(fenced)
			a.must(history.TypeOK, DoAcquire)
			time.Sleep(2 * ttl)
			b.must(history.TypeOK, DoAcquire)
			a.must(history.TypeOK, DoWrite) // the store has not received b's token
			b.must(history.TypeOK, DoRead)
			require.Equal(t, unfenced, b.last().Fence == 0)
			if unfenced {
				a.must(history.TypeOK, DoWrite)
				b.must(history.TypeOK, DoWrite)
			}
			a.must(history.TypeFail, DoWrite)
			require.Equal(t, history.ReasonStale, a.last().Reason)
			onlooker.must(history.TypeOK, DoRead) // a read without a lease claims nothing
			b.must(history.TypeOK, DoWrite)
		})
	}
}

func TestCheck_Fails_WritesFailWithoutTheStore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.client(nil), w.client(nil)
		a.must(history.TypeOK, DoAcquire, DoRead)
		time.Sleep(2 * ttl)
		b.must(history.TypeOK, DoAcquire, DoRead, DoWrite)
		a.must(history.TypeFail, DoCheck)
		require.Equal(t, history.ReasonExpired, a.last().Reason)
		sets := w.sites["store"].count("SET")
		a.must(history.TypeFail, DoWrite)
		require.Equal(t, history.ReasonExpired, a.last().Reason)
		require.Equal(t, sets, w.sites["store"].count("SET"), "the store was not touched")

		time.Sleep(2 * ttl)
		a.must(history.TypeOK, DoAcquire, DoWrite) // a new lease may write
	})
}

func TestWrite_Outcomes(t *testing.T) {
	answering := func(answer func(s *site, p *server.Peer, args []string)) func(*site) {
		return func(s *site) {
			s.hook = func(p *server.Peer, cmd string, args ...string) bool {
				if cmd == "SET" {
					answer(s, p, args)
				}
				return cmd == "SET"
			}
		}
	}
	for name, test := range map[string]struct {
		change  func(*site)
		outcome history.Type
		applied bool
	}{
		"the reply is lost": {answering(func(s *site, p *server.Peer, args []string) {
			_ = s.Set(args[0], args[1])
			p.Close()
		}), history.TypeInfo, true},
		"the connection closes first": {func(s *site) { s.hook = closing }, history.TypeInfo, false},
		"the server refuses": {answering(func(_ *site, p *server.Peer, _ []string) {
			p.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
		}), history.TypeFail, false},
		"the server cannot be reached": {func(s *site) { s.down = true }, history.TypeFail, false},
	} {
		t.Run(name, func(t *testing.T) {
			withLease(t, nil, func(t *testing.T, w *world, c *subject) {
				w.set(test.change, "store")
				c.must(test.outcome, DoWrite)
				require.Equal(t, history.ReasonOther, c.last().Reason)
				require.NotEmpty(t, c.last().Error)
				if w.sites["store"].down {
					c.must(history.TypeFail, DoRead)
				}
				require.Equal(t, test.applied, w.sites["store"].Exists("value:k1"))
			})
		})
	}
}

func TestWrite_TimesOut_IsUnknown(t *testing.T) {
	withLease(t, nil, func(t *testing.T, w *world, c *subject) {
		w.sites["store"].set(func(s *site) {
			s.hook = func(*server.Peer, string, ...string) bool { time.Sleep(ttl / 2); return false }
		})
		m := c.do(Command{Do: DoWrite, Within: ttl / 4})
		require.Equal(t, history.TypeInfo, m.Outcome)
		c.must(history.TypeOK, DoWrite) // without a timeout it waits
	})
}
