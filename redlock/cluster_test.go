package redlock

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
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/require"
)

const (
	key = "k1"
	ttl = time.Second
)

// cluster is servers in memory and the clients' links to them, in a bubble of
// virtual time.
type cluster struct {
	t       *testing.T
	servers []*miniredis.Miniredis
	closers []io.Closer // clients and locks, closed in reverse
}

// inBubble runs a test on n servers in virtual time; every goroutine has to end
// with it.
func inBubble(t *testing.T, n int, test func(*testing.T, *cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{t: t}
		for i := range n {
			c.servers = append(c.servers, newServer(t, fmt.Sprintf("%040d", i+1)))
		}
		defer c.close() // even if the test fails: the bubble waits for all
		test(t, c)
	})
}

func (c *cluster) close() {
	for i := len(c.closers) - 1; i >= 0; i-- {
		_ = c.closers[i].Close()
	}
	for _, s := range c.servers {
		s.Close()
	}
	time.Sleep(time.Hour) // past the last sleeping link
}

// newServer is a miniredis that tells its run id, which it does not by itself.
func newServer(t *testing.T, runID string) *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	conn, err := m.Dial() // makes it start
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	m.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		if cmd != "INFO" || len(args) != 1 || args[0] != "server" {
			return false
		}
		c.WriteBulk("# Server\r\nredis_version:7.0.15\r\nrun_id:" + runID + "\r\n")
		return true
	})
	return m
}

// link is one client's way to one server. Its functions, if set, are called
// with the command's name, in lower case, before a command goes out and before
// its reply is read; an error cuts the connection.
type link struct {
	server *miniredis.Miniredis
	addr   string
	mu     sync.Mutex
	out    func(command string) error
	back   func(command string) error
}

func (l *link) onCommand(f func(string) error) { l.mu.Lock(); l.out = f; l.mu.Unlock() }
func (l *link) onReply(f func(string) error)   { l.mu.Lock(); l.back = f; l.mu.Unlock() }

func (l *link) pass(f *func(string) error, command string) error {
	l.mu.Lock()
	hook := *f
	l.mu.Unlock()
	if hook == nil || command == "" {
		return nil
	}
	return hook(command)
}

// errLost lets a link take a command that never arrives.
var errLost = errors.New("lost on the way")

// hang makes the link lose everything, so that no reply ever comes.
func (l *link) hang() { l.onCommand(func(string) error { return errLost }) }

// cut makes the link refuse everything, new connections too.
func (l *link) cut() { l.onCommand(func(string) error { return errors.New("link is cut") }) }

func (l *link) dial(context.Context, string, string) (net.Conn, error) {
	conn, err := l.server.Dial()
	if err != nil {
		return nil, err
	}
	c := &linkConn{Conn: conn, link: l, sent: make(chan []byte, 64), closed: make(chan struct{})}
	go c.deliver()
	return c, nil
}

type linkConn struct {
	net.Conn
	link   *link
	last   string      // the command under way
	sent   chan []byte // the socket's buffer: a pipe has none, and who writes much before it reads would block
	once   sync.Once
	closed chan struct{}
}

// deliver takes what was sent to the server.
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
	switch err := c.link.pass(&c.link.out, c.last); {
	case errors.Is(err, errLost):
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
		return n, err
	}
	if err := c.link.pass(&c.link.back, c.last); err != nil {
		return 0, err
	}
	return n, nil
}

// slow delays commands of a name.
func slow(name string, d time.Duration) func(string) error {
	return func(command string) error {
		if command == name {
			time.Sleep(d)
		}
		return nil
	}
}

// breaking fails at commands of a name.
func breaking(name string) func(string) error {
	return func(command string) error {
		if command == name {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
}

// losing fails at replies to commands of a name. It waits until the server has
// carried out all that it was sent: the name is that of the last command of a
// pipeline, and what is read may be the reply to one before it.
func losing(name string) func(string) error {
	lost := breaking(name)
	return func(command string) error {
		err := lost(command)
		if err != nil {
			time.Sleep(time.Nanosecond)
		}
		return err
	}
}

// bubbleClock is the bubble's clock; its wall clock can be set.
type bubbleClock struct {
	origin time.Time
	mu     sync.Mutex
	step   time.Duration
}

func (c *bubbleClock) Now() time.Duration             { return time.Since(c.origin) }
func (c *bubbleClock) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }

func (c *bubbleClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.step)
}

func (c *bubbleClock) setBack(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step -= d
}

// user is one client of the lock with its own links and clock.
type user struct {
	*Redlock
	clock *bubbleClock
	links []*link
}

// user makes a client of the lock on all servers, which seed tells from others.
func (c *cluster) user(seed uint64, opts ...Option) *user {
	return c.userOn(seed, c.servers, opts...)
}

func (c *cluster) userOn(seed uint64, servers []*miniredis.Miniredis, opts ...Option) *user {
	c.t.Helper()
	return c.userWith(seed, servers, func(*redis.Options) {}, opts...)
}

func (c *cluster) userWith(seed uint64, servers []*miniredis.Miniredis, setup func(*redis.Options), opts ...Option) *user {
	c.t.Helper()
	u := &user{clock: &bubbleClock{origin: time.Now()}}
	var nodes []redis.UniversalClient
	for i, s := range servers {
		l := &link{server: s, addr: fmt.Sprintf("n%d:6379", i+1)}
		o := &redis.Options{
			Addr: l.addr, Dialer: l.dial, Protocol: 2, MaxRetries: -1, DialerRetries: 1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}
		setup(o)
		client := redis.NewClient(o)
		c.closers = append(c.closers, client)
		u.links = append(u.links, l)
		nodes = append(nodes, client)
	}
	var err error
	chacha := rand.NewChaCha8([32]byte{byte(seed)})
	u.Redlock, err = New(nodes, append([]Option{WithClock(u.clock), WithRand(chacha)}, opts...)...)
	require.NoError(c.t, err)
	c.closers = append(c.closers, u)
	return u
}

// each sets something up on some of the links, all if none are named.
func (u *user) each(do func(*link), nodes ...int) {
	for i, l := range u.links {
		if len(nodes) == 0 {
			do(l)
		}
		for _, n := range nodes {
			if n == i+1 {
				do(l)
			}
		}
	}
}

// reach cuts all links but these.
func (u *user) reach(nodes ...int) {
	u.each((*link).cut)
	u.each(func(l *link) { l.onCommand(nil) }, nodes...)
}

// owners are the tokens at the key, by server; "" where there is none.
func (c *cluster) owners() []string {
	owners := make([]string, len(c.servers))
	for i, s := range c.servers {
		if s.Exists(key) {
			owners[i], _ = s.Get(key)
		}
	}
	return owners
}

// occupy gives the key to somebody on these servers.
func (c *cluster) occupy(owner string, nodes ...int) {
	for _, n := range nodes {
		require.NoError(c.t, c.servers[n-1].Set(key, owner))
		c.servers[n-1].SetTTL(key, time.Minute)
	}
}

// free takes it away again.
func (c *cluster) free(nodes ...int) {
	for _, n := range nodes {
		c.servers[n-1].Del(key)
	}
}

// must takes the lock, on every node that is not held up.
func (u *user) must(t *testing.T) *Lease {
	t.Helper()
	l, err := u.TryAcquire(t.Context(), key, ttl)
	require.NoError(t, err)
	synctest.Wait()
	return l
}

// warmUp makes first contact with all nodes, so that a SET is alone on its
// connection from then on.
func (u *user) warmUp(t *testing.T) {
	t.Helper()
	l, err := u.TryAcquire(t.Context(), "warm-up", ttl)
	require.NoError(t, err)
	require.NoError(t, l.Release(t.Context()))
	synctest.Wait()
}
