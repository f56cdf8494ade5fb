package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/server"
)

// The Key and the TTL of most tests; the longest TTL of guarded locks, and a wait after which their guard allows votes.
const (
	Key     = "k1"
	TTL     = time.Second
	Longest = 10 * time.Second
	Settled = Longest + 3*time.Second
)

// Cluster is servers in memory and the clients' links to them, in a bubble of virtual time.
type Cluster struct {
	t       *testing.T
	Servers []*Server
	Closers []io.Closer // clients and locks, closed in reverse
}

// InBubble runs a test on n servers in virtual time; every goroutine must end with it.
func InBubble(t *testing.T, n int, test func(*testing.T, *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &Cluster{t: t}
		for i := range n {
			c.Servers = append(c.Servers, newServer(t, 100*(i+1)))
		}
		defer c.close() // even if the test fails: the bubble waits for all
		test(t, c)
	})
}

// Cases runs a test on n servers for each case, as a subtest.
func Cases[C any](t *testing.T, n int, cases map[string]C, test func(*testing.T, *Cluster, C)) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			InBubble(t, n, func(t *testing.T, servers *Cluster) { test(t, servers, c) })
		})
	}
}

func (c *Cluster) close() {
	for i := len(c.Closers) - 1; i >= 0; i-- {
		_ = c.Closers[i].Close()
	}
	for _, s := range c.Servers {
		s.Close()
	}
	time.Sleep(time.Hour) // past the last sleeping link
}

// Link is one client's path to one server. Its functions, if set, get the command's name, in lower case, before the
// command is sent and before its reply is read; an error cuts the connection.
type Link struct {
	server *Server
	out    hook
	back   hook
}

type hook = atomic.Pointer[func(command string) error]

func (l *Link) OnCommand(f func(string) error) { l.out.Store(&f) }
func (l *Link) OnReply(f func(string) error)   { l.back.Store(&f) }

func pass(h *hook, command string) error {
	if f := h.Load(); f != nil && *f != nil && command != "" {
		return (*f)(command)
	}
	return nil
}

// ErrLost makes a Link accept a command and drop it.
var ErrLost = errors.New("lost on the way")

// Hang makes the Link drop everything, so that no reply ever comes.
func (l *Link) Hang() { l.OnCommand(func(string) error { return ErrLost }) }

// Cut makes the Link refuse everything, new connections too.
func (l *Link) Cut() { l.OnCommand(func(string) error { return errors.New("link is cut") }) }

func (l *Link) dial(context.Context, string, string) (net.Conn, error) {
	conn, err := l.server.Dial()
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: conn, link: l, sent: make(chan []byte, 64), closed: make(chan struct{})}
	l.server.accept(c)
	go c.deliver()
	return c, nil
}

type linkConn struct {
	net.Conn
	link   *Link
	last   string      // the command under way
	sent   chan []byte // the socket's buffer: a pipe has none, and a long write before a read would block
	once   sync.Once
	closed chan struct{}
}

func (c *linkConn) deliver() {
	for {
		select {
		case p := <-c.sent:
			_, _ = c.Conn.Write(p)
		case <-c.closed:
			return
		}
	}
}

func (c *linkConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

var commandName = regexp.MustCompile(`\*\d+\r\n\$\d+\r\n([a-zA-Z]+)\r\n`)

func (c *linkConn) Write(p []byte) (int, error) {
	c.last = ""
	for _, m := range commandName.FindAllSubmatch(p, -1) {
		c.last = strings.ToLower(string(m[1]))
	}
	switch err := pass(&c.link.out, c.last); {
	case errors.Is(err, ErrLost):
		return len(p), nil
	case err != nil:
		return 0, err
	}
	select {
	case c.sent <- slices.Clone(p):
		return len(p), nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *linkConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		return n, asSocket(err)
	}
	if err := pass(&c.link.back, c.last); err != nil {
		return 0, err
	}
	return n, nil
}

func (c *linkConn) SetReadDeadline(t time.Time) error  { return asSocket(c.Conn.SetReadDeadline(t)) }
func (c *linkConn) SetWriteDeadline(t time.Time) error { return asSocket(c.Conn.SetWriteDeadline(t)) }

// asSocket turns the end of a pipe into that of a socket.
func asSocket(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

// At calls a function at commands of a name.
func At(name string, do func() error) func(string) error {
	return func(command string) error {
		if command != name {
			return nil
		}
		return do()
	}
}

// Slow delays commands of a name.
func Slow(name string, d time.Duration) func(string) error {
	return At(name, func() error { time.Sleep(d); return nil })
}

// Failing fails at commands of a name.
func Failing(name string, with error) func(string) error {
	return At(name, func() error { return with })
}

// Breaking ends the connection at commands of a name.
func Breaking(name string) func(string) error { return Failing(name, io.ErrUnexpectedEOF) }

// Losing drops replies to commands of a name. It first lets the server carry out the whole pipeline: the name is that
// of the pipeline's last command, and the reply may be that of an earlier one.
func Losing(name string) func(string) error {
	return At(name, func() error { time.Sleep(time.Nanosecond); return io.ErrUnexpectedEOF })
}

// User is one client of the lock with its own links and clock.
type User struct {
	*redlock.Redlock
	Clock   *Clock
	Links   []*Link
	Clients []redis.UniversalClient
}

// Option changes how a user's lock, clients or nodes are set up.
type Option func(*setup)

type setup struct {
	redlock.Options
	clients    []func(*redis.Options)
	decorators []server.Decorator
	guard      *guard.Options // nil: no guard
}

// Without switches rules off.
func Without(rules ...redlock.Rule) Option {
	return func(s *setup) { s.Options.Without = append(s.Options.Without, rules...) }
}

// Patient sets a node timeout.
func Patient(d time.Duration) Option { return func(s *setup) { s.NodeTimeout = d } }

// With sets other options.
func With(do func(*redlock.Options)) Option { return func(s *setup) { do(&s.Options) } }

// Clients sets options of the go-redis clients.
func Clients(do func(*redis.Options)) Option {
	return func(s *setup) { s.clients = append(s.clients, do) }
}

// Decorated adds a decorator of nodes.
func Decorated(by server.Decorator) Option {
	return func(s *setup) { s.decorators = append(s.decorators, by) }
}

// Guarded refuses duplicate servers and, with a longest TTL, votes of servers that have restarted.
func Guarded(longest time.Duration) Option {
	return func(s *setup) { s.guard = &guard.Options{Longest: longest} }
}

// User makes a client of the lock on all servers; its tokens depend on seed.
func (c *Cluster) User(seed uint64, opts ...Option) *User {
	c.t.Helper()
	return c.UserOn(seed, c.Servers, opts...)
}

// UserOn makes one on these servers.
func (c *Cluster) UserOn(seed uint64, servers []*Server, opts ...Option) *User {
	c.t.Helper()
	u := &User{Clock: &Clock{Origin: time.Now()}}
	s := setup{Options: redlock.Options{Clock: u.Clock, Rand: rand.NewChaCha8([32]byte{byte(seed)})}}
	for _, opt := range opts {
		opt(&s)
	}
	if s.guard != nil {
		s.guard.Clock, s.guard.Without = s.Clock, s.Options.Without
		s.decorators = append(s.decorators, guard.Servers(*s.guard))
	}
	for i, to := range servers {
		l := &Link{server: to}
		o := &redis.Options{
			Addr: fmt.Sprintf("n%d:6379", i+1), Dialer: l.dial, Protocol: 2, MaxRetries: -1, DialerRetries: 1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}
		for _, set := range s.clients {
			set(o)
		}
		client := redis.NewClient(o)
		c.Closers = append(c.Closers, client)
		u.Links, u.Clients = append(u.Links, l), append(u.Clients, client)
	}
	nodes, err := server.Nodes(u.Clients, s.decorators...)
	require.NoError(c.t, err)
	u.Redlock, err = redlock.New(nodes, s.Options)
	require.NoError(c.t, err)
	c.Closers = append(c.Closers, u)
	return u
}

// Each changes some of the links, all if none are named.
func (u *User) Each(do func(*Link), nodes ...int) {
	for i, l := range u.Links {
		if len(nodes) == 0 || slices.Contains(nodes, i+1) {
			do(l)
		}
	}
}

// OnCommand and OnReply set the function of some links, all if none are named.
func (u *User) OnCommand(f func(string) error, nodes ...int) {
	u.Each(func(l *Link) { l.OnCommand(f) }, nodes...)
}

func (u *User) OnReply(f func(string) error, nodes ...int) {
	u.Each(func(l *Link) { l.OnReply(f) }, nodes...)
}

// Cut cuts these links.
func (u *User) Cut(nodes ...int) {
	if len(nodes) > 0 {
		u.Each((*Link).Cut, nodes...)
	}
}

// Reach cuts all links but these.
func (u *User) Reach(nodes ...int) {
	u.Each((*Link).Cut)
	u.OnCommand(nil, nodes...)
}

// Owners are the tokens at the key, by server; "" where there is none.
func (c *Cluster) Owners() []string {
	owners := make([]string, len(c.Servers))
	for i, s := range c.Servers {
		if s.Exists(Key) {
			owners[i], _ = s.Get(Key)
		}
	}
	return owners
}

// Occupy stores the key with the token "another" on these servers.
func (c *Cluster) Occupy(nodes ...int) {
	for _, n := range nodes {
		require.NoError(c.t, c.Servers[n-1].Set(Key, "another"))
		c.Servers[n-1].SetTTL(Key, time.Minute)
	}
}

// Free deletes the key.
func (c *Cluster) Free(nodes ...int) {
	for _, n := range nodes {
		c.Servers[n-1].Del(Key)
	}
}

// Must acquires the lock, on every node that is not delayed.
func (u *User) Must(t *testing.T) *redlock.Lease {
	t.Helper()
	l, err := u.TryAcquire(t.Context(), Key, TTL)
	require.NoError(t, err)
	synctest.Wait()
	return l
}

// WarmUp makes first contact with all nodes, so that a later SET is alone on its connection.
func (u *User) WarmUp(t *testing.T) {
	t.Helper()
	l, err := u.TryAcquire(t.Context(), "warm-up", TTL)
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
	synctest.Wait()
}
