package client

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/harness/locks"
)

const ttl = time.Second

// world is three nodes and a store in a bubble.
type world struct {
	t     *testing.T
	start time.Time
	nodes []string
	sites map[string]*site
	count int // clients so far
}

// site is one server: how it can misbehave.
type site struct {
	*miniredis.Miniredis
	mu    sync.Mutex
	down  bool
	hook  server.Hook // nil: none
	peers map[*server.Peer]bool
	seen  map[string]int // commands by name
}

func (s *site) set(change func(*site)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// count is how often a command has reached the server.
func (s *site) count(command string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[command]
}

func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, start: time.Now(), nodes: []string{"n1", "n2", "n3"}, sites: map[string]*site{}}
		for _, name := range append([]string{"store"}, w.nodes...) {
			w.sites[name] = newSite(t, name)
		}
		test(t, w)
	})
}

func newSite(t *testing.T, name string) *site {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	c, err := m.Dial() // makes the server
	require.NoError(t, err)
	require.NoError(t, c.Close())
	s := &site{Miniredis: m, peers: map[*server.Peer]bool{}, seen: map[string]int{}}
	m.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		if cmd == "INFO" {
			p.WriteBulk("# Server\r\nrun_id:" + name + "\r\n")
			return true
		}
		s.mu.Lock()
		s.peers[p] = true
		s.seen[cmd]++
		hook := s.hook
		s.mu.Unlock()
		return hook != nil && hook(p, cmd, args...)
	})
	t.Cleanup(m.Close)
	return s
}

func (w *world) dial(_ context.Context, _, addr string) (net.Conn, error) {
	s := w.sites[addr]
	s.mu.Lock()
	down := s.down
	s.mu.Unlock()
	if down {
		return nil, errors.New("connection refused")
	}
	return s.Dial() // not under our lock: the server calls the hook under its own
}

func (w *world) now() int64 { return int64(time.Since(w.start)) }

// subject is a client under test with all that it said.
type subject struct {
	*Client
	t      *testing.T
	gate   *Gate
	serial int

	mu     sync.Mutex
	events []history.Event
	done   map[int]chan Message
}

func (w *world) client(change func(*Setup)) *subject {
	w.t.Helper()
	setup := Setup{
		Name: "c" + strconv.Itoa(w.count+1), Index: w.count, Lock: locks.Reference,
		Options: locks.Options{TTL: ttl}, Nodes: w.nodes, Store: "store", Seed: 7,
	}
	w.count++
	if change != nil {
		change(&setup)
	}
	s := &subject{t: w.t, gate: &Gate{}, done: map[int]chan Message{}}
	c, err := New(setup, Env{Dial: w.dial, Now: w.now, Gate: s.gate}, s.hear)
	require.NoError(w.t, err)
	s.Client = c
	w.t.Cleanup(func() { require.NoError(w.t, c.Close()) })
	return s
}

func (s *subject) hear(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Event != nil {
		s.events = append(s.events, *m.Event)
	}
	if m.Done != 0 {
		s.done[m.Done] <- m
	}
}

// send hands over a command and returns where its end arrives.
func (s *subject) send(cmd Command) <-chan Message {
	s.t.Helper()
	s.mu.Lock()
	s.serial++
	cmd.Serial = s.serial
	done := make(chan Message, 1)
	s.done[s.serial] = done
	s.mu.Unlock()
	require.NoError(s.t, s.Send(cmd))
	return done
}

func (s *subject) do(cmd Command) Message {
	s.t.Helper()
	return <-s.send(cmd)
}

// must does commands that have an outcome, and requires which.
func (s *subject) must(outcome history.Type, dos ...Do) {
	s.t.Helper()
	for _, do := range dos {
		m := s.do(Command{Do: do, Key: "k1"})
		require.Empty(s.t, m.Error)
		require.Equal(s.t, outcome, m.Outcome, "%s: %+v", do, s.last())
	}
}

func (s *subject) heard() []history.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]history.Event(nil), s.events...)
}

func (s *subject) last() history.Event {
	events := s.heard()
	if len(events) == 0 {
		return history.Event{}
	}
	return events[len(events)-1]
}

// of counts the events of a type and an operation.
func (s *subject) of(kind history.Type, op history.Op) (found []history.Event) {
	for _, e := range s.heard() {
		if e.Type == kind && e.Op == op {
			found = append(found, e)
		}
	}
	return found
}

func TestARoundAsEvents(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
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
		require.Equal(t, int64(ttl-ttl/100-2*time.Millisecond), events[1].Validity)
		require.Equal(t, "", events[3].Value)
		require.Equal(t, "c1.1", events[7].Value)
		require.Equal(t, "", events[7].Base)
		require.Equal(t, "c1.1", events[9].Value)
	})
}

func TestWritesInOneLeaseBuildOnOneAnother(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire, DoRead, DoWrite, DoWrite)
		require.Equal(t, "c1.1", c.last().Base)
		c.must(history.TypeOK, DoRelease, DoAcquire, DoWrite)
		require.Equal(t, "", c.last().Base, "a new lease has read nothing yet")
		require.Equal(t, "c1.3", c.last().Value)
	})
}

func TestCommandsThatNeedALease(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		for _, do := range []Do{DoExtend, DoRelease, DoCheck, DoWrite, DoWatch} {
			m := c.do(Command{Do: do})
			require.Equal(t, "client c1: "+string(do)+": the client has had no lease so far: an acquire that succeeds must come first", m.Error)
			require.Empty(t, m.Outcome)
		}
		require.ErrorContains(t, c.Send(Command{Do: DoAcquire, Serial: 1}), "which key")
		require.Contains(t, c.do(Command{Do: DoRead}).Error, "which key?")
		require.Contains(t, c.do(Command{Do: DoCancel}).Error, "no operation is under way")
		require.Contains(t, c.do(Command{Do: DoStop}).Error, "no loop is running")
		require.Empty(t, c.heard(), "what is impossible is not history")

		c.must(history.TypeOK, DoAcquire)
		require.Contains(t, c.do(Command{Do: DoExtend, Key: "k2"}).Error, "no lease on k2")
		c.must(history.TypeOK, DoRelease, DoWrite) // a write after the release is the latest lease's
	})
}

func TestReasonsOfFailures(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a := w.client(func(s *Setup) { s.Options.MaxExtensions = 1 })
		b := w.client(func(s *Setup) { s.Options.Tries = 1 })
		a.must(history.TypeOK, DoAcquire, DoExtend)
		a.must(history.TypeFail, DoExtend)
		require.Equal(t, history.ReasonBounded, a.last().Reason)

		b.must(history.TypeFail, DoAcquire)
		require.Equal(t, history.ReasonHeld, b.last().Reason)
		require.Contains(t, b.last().Error, "held by another")

		time.Sleep(2 * ttl)
		a.must(history.TypeFail, DoRelease)
		require.Equal(t, history.ReasonLost, a.last().Reason)

		for _, n := range w.nodes[:2] {
			w.sites[n].set(func(s *site) { s.hook = func(p *server.Peer, _ string, _ ...string) bool { p.Close(); return true } })
		}
		b.must(history.TypeFail, DoAcquire)
		require.Equal(t, history.ReasonNoMajority, b.last().Reason)
	})
}

func TestAReleaseWithoutAnswersIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		for _, n := range w.nodes[:2] {
			w.sites[n].set(func(s *site) { s.hook = func(p *server.Peer, _ string, _ ...string) bool { p.Close(); return true } })
		}
		c.must(history.TypeInfo, DoRelease)
		require.Equal(t, history.ReasonNoMajority, c.last().Reason)
	})
}

func TestWithinAndCancelBoundAnOperation(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.client(nil), w.client(nil)
		a.must(history.TypeOK, DoAcquire)

		m := b.do(Command{Do: DoAcquire, Key: "k1", Within: 100 * time.Millisecond})
		require.Equal(t, history.TypeFail, m.Outcome)
		require.Equal(t, history.ReasonCancelled, b.last().Reason)
		require.Equal(t, int64(100*time.Millisecond), b.last().Time)

		waiting := b.send(Command{Do: DoAcquire, Key: "k1"})
		time.Sleep(50 * time.Millisecond)
		require.Empty(t, b.do(Command{Do: DoCancel}).Error)
		require.Equal(t, history.TypeFail, (<-waiting).Outcome)
		require.Contains(t, b.last().Error, "the caller cancelled")
		require.Equal(t, int64(150*time.Millisecond), b.last().Time)
	})
}

func TestCommandsQueueUpAndCloseDropsThem(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.client(nil), w.client(nil)
		a.must(history.TypeOK, DoAcquire)
		first := b.send(Command{Do: DoAcquire, Key: "k1"})
		b.send(Command{Do: DoRelease})
		time.Sleep(ttl / 10)
		require.Len(t, b.heard(), 1, "the release waits for the acquire")
		require.NoError(t, b.Close())
		require.Equal(t, history.TypeFail, (<-first).Outcome)
		require.Len(t, b.heard(), 2)
		require.ErrorContains(t, b.Send(Command{Do: DoRelease, Serial: 9}), "closing")
		token, err := w.sites["n1"].Get("k1")
		require.NoError(t, err)
		require.Equal(t, a.last().Token, token, "the dropped release did nothing")
	})
}

func TestExitEndsTheClient(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		require.Empty(t, c.do(Command{Do: DoExit}).Error)
		require.ErrorContains(t, c.Send(Command{Do: DoCheck, Serial: 9}), "closing")
		require.True(t, w.sites["n1"].Exists("k1"), "a lease is not released unasked")
	})
}

func TestAKilledClientSaysAndDoesNothingMore(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(nil)
		c.must(history.TypeOK, DoAcquire)
		c.send(Command{Do: DoLoop, Loop: &Loop{Keys: []string{"k2"}, Hold: ttl / 10, Think: ttl / 10}})
		time.Sleep(ttl)
		before := len(c.heard())
		require.Greater(t, before, 10)
		c.Kill()
		commands := w.sites["n1"].count("SET") + w.sites["n1"].count("EVALSHA")
		require.NoError(t, c.Close())
		time.Sleep(ttl)
		require.Len(t, c.heard(), before)
		require.Equal(t, commands, w.sites["n1"].count("SET")+w.sites["n1"].count("EVALSHA"))
	})
}

func TestNewRefusesASetupThatIsWrong(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Setup)
		says   string
	}{
		{"nothing", func(s *Setup) { *s = Setup{} }, "it lacks name, nodes, store, options.ttl"},
		{"no such lock", func(s *Setup) { s.Lock = "redlok" }, `no lock named "redlok"`},
		{"a rule that does not exist", func(s *Setup) { s.Options.Without = []string{"Majorty"} }, "Majorty"},
		{"two checks at once", func(s *Setup) { s.FencedStore, s.CompareStore = true, true }, "exclude each other"},
		{"one address twice", func(s *Setup) { s.Nodes = []string{"n1", "n1", "n2"} }, "listed twice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				setup := Setup{Name: "c1", Lock: locks.Reference, Options: locks.Options{TTL: ttl}, Nodes: w.nodes, Store: "store"}
				test.change(&setup)
				_, err := New(setup, Env{Dial: w.dial, Now: w.now}, func(Message) {})
				require.ErrorContains(t, err, test.says)
			})
		})
	}
}

func TestAConnectionThatTheServerClosedIsReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(func(s *Setup) { s.Options.Tries = 1 })
		c.must(history.TypeOK, DoAcquire, DoWrite, DoRelease)
		for _, s := range w.sites {
			s.set(func(s *site) {
				for p := range s.peers {
					p.Close()
				}
			})
		}
		synctest.Wait()
		c.must(history.TypeOK, DoAcquire, DoWrite)
	})
}

func TestBeliefOnTheWallClockIsMarked(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.client(func(s *Setup) { s.Options.Without = []string{"MonotonicClock"} })
		c.must(history.TypeOK, DoAcquire)
		require.True(t, c.last().Wall)
		before := c.last().Validity
		require.Empty(t, c.do(Command{Do: DoClock, Clock: &SetClock{Jump: -ttl}}).Error)
		time.Sleep(ttl)
		c.must(history.TypeOK, DoCheck)
		require.Positive(t, before)
	})
}
