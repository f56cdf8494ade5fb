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

	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/link"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

const ttl = time.Second

// world is three nodes and a store in a bubble.
type world struct {
	t         *testing.T
	start     time.Time
	scheduler *scheduler.Scheduler
	nodes     []string
	sites     map[string]*site
	count     int // clients so far
}

// site is one server with its faults.
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

// closing closes the connection without a reply.
func closing(p *server.Peer, _ string, _ ...string) bool {
	p.Close()
	return true
}

// set changes the servers' faults.
func (w *world) set(change func(*site), names ...string) {
	for _, name := range names {
		w.sites[name].set(change)
	}
}

// count is the number of times that a command reached the server.
func (s *site) count(command string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[command]
}

func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, start: time.Now(), scheduler: scheduler.New(), nodes: []string{"n1", "n2", "n3"},
			sites: map[string]*site{}}
		t.Cleanup(w.scheduler.End)
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
			p.WriteBulk("# Server\r\nrun_id:" + name + "\r\nuptime_in_seconds:86400\r\n")
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
	near, far := link.Pipe(w.scheduler, scheduler.Key{})
	s.Server().ServeConn(far)
	return near, nil
}

func (w *world) now() int64 { return int64(time.Since(w.start)) }

// subject is a client under test with its messages.
type subject struct {
	*Client
	t      *testing.T
	serial int

	clustertest.Events
	mu   sync.Mutex
	done map[int]chan Message
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
	s := &subject{t: w.t, done: map[int]chan Message{}}
	c, err := New(setup, Env{Dial: w.dial, Now: w.now, Scheduler: w.scheduler}, s.hear)
	require.NoError(w.t, err)
	s.Client = c
	w.t.Cleanup(func() { require.NoError(w.t, c.Close()) })
	return s
}

// withClient runs a test of one client in its world.
func withClient(t *testing.T, change func(*Setup), test func(t *testing.T, w *world, c *subject)) {
	t.Helper()
	inBubble(t, func(t *testing.T, w *world) { test(t, w, w.client(change)) })
}

// withLease is withClient, after an acquire.
func withLease(t *testing.T, change func(*Setup), test func(t *testing.T, w *world, c *subject)) {
	t.Helper()
	withClient(t, change, func(t *testing.T, w *world, c *subject) {
		c.must(history.TypeOK, DoAcquire)
		test(t, w, c)
	})
}

func (s *subject) hear(m Message) {
	if m.Event != nil {
		s.Record(*m.Event)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Done != 0 {
		s.done[m.Done] <- m
	}
}

// send sends a command and returns the channel for its end.
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

// must runs commands and requires their outcome.
func (s *subject) must(outcome history.Type, dos ...Do) {
	s.t.Helper()
	for _, do := range dos {
		m := s.do(Command{Do: do, Key: "k1"})
		require.Empty(s.t, m.Error)
		require.Equal(s.t, outcome, m.Outcome, "%s: %+v", do, s.last())
	}
}

func (s *subject) heard() []history.Event { return s.All() }

func (s *subject) last() history.Event {
	events := s.heard()
	if len(events) == 0 {
		return history.Event{}
	}
	return events[len(events)-1]
}

// of returns the events of a type and an operation.
func (s *subject) of(kind history.Type, op history.Op) (found []history.Event) {
	for _, e := range s.heard() {
		if e.Type == kind && e.Op == op {
			found = append(found, e)
		}
	}
	return found
}
