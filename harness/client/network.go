package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// quiet keeps go-redis from writing to stderr that a node cannot be reached:
// here that is the experiment, and it is in the history.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// The logger is one for all of go-redis and is not guarded: it must be set
// before any client exists.
func init() { redis.SetLogger(quiet{}) }

// poolSize is more connections than a client uses: each reply that is lost keeps one
// for as long as a reply is waited for, some TTLs, and there are up to a hundred
// attempts in ten seconds. go-redis shares timers between all its pools when a pool
// runs out, which synctest bubbles may not share.
func poolSize(ttl time.Duration) int {
	return int(min(max(minPoolSize, minPoolSize*ttl/(10*time.Second)), maxPoolSize))
}

const minPoolSize, maxPoolSize = 256, 8192

// bufferSize is for commands and replies of a hundred bytes or so; go-redis's
// own 32 KiB would be most of the memory of a run in virtual time.
const bufferSize = 1024

// dialError marks a connection that was never made: its command certainly did
// not reach the server. It has no Unwrap, for go-redis would unwrap it.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

// network makes the client's connections and can end them all.
type network struct {
	dialer   func(ctx context.Context, network, addr string) (net.Conn, error)
	pause    *hold
	key      func(kind, number int) scheduler.Key
	password string // the servers'

	ctx     context.Context // ends with the network
	cancel  context.CancelFunc
	dialing sync.WaitGroup

	mu    sync.Mutex
	conns map[*pausedConn]struct{}
	ended bool
}

func newNetwork(dialer func(context.Context, string, string) (net.Conn, error), pause *hold, password string,
	key func(kind, number int) scheduler.Key) *network {
	if dialer == nil {
		dialer = (&net.Dialer{}).DialContext
	}
	n := &network{dialer: dialer, pause: pause, key: key, password: password, conns: map[*pausedConn]struct{}{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// options are those of a Redis client to one server, to Sentinels or to a Redis Cluster at
// these addresses; server tells the servers apart. Sentinels and clusters give addresses as
// they know them: routes gives where this client reaches what is there.
func (n *network) options(ttl time.Duration, server int, routes map[string]string,
	addresses ...string) *redis.UniversalOptions {
	// A reply that the network holds back is waited for in the background, so
	// that its fate is known: the lock's own node timeout is what must be short.
	timeout := max(5*time.Second, 3*ttl)
	return &redis.UniversalOptions{
		Addrs:            addresses,
		MasterName:       MasterName,
		Password:         n.password,
		SentinelPassword: n.password,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if own, ok := routes[addr]; ok {
				addr = own
			}
			return withFailedConn(n.dial(ctx, network, addr, server))
		},
		// A SET NX that is sent again after its reply was lost finds its own
		// key and takes it for another's: a scenario that is about this asks for it.
		MaxRetries:    -1,
		DialerRetries: 1,
		DialTimeout:   dialTimeout(ttl),
		// Without this, reads ignore their context's deadline.
		ContextTimeoutEnabled: true,
		ReadTimeout:           timeout,
		WriteTimeout:          timeout,
		PoolSize:              poolSize(ttl),
		PoolTimeout:           poolTimeout(timeout),
		PipelinePoolSize:      -1, // pipelines use the same connections
		ReadBufferSize:        bufferSize,
		WriteBufferSize:       bufferSize,
		// What is not about the lock is not sent: CLIENT SETINFO, RESP3's
		// pushes, and the handshake for maintenance, which also dials extra.
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// MasterName is what Sentinels call the master that they watch.
const MasterName = "lock"

// dialTimeout is longer than any timeout that a lock has for one node, which is to
// decide how long a node is waited for.
func dialTimeout(ttl time.Duration) time.Duration { return max(time.Second, ttl/10) }

// dial connects to a server.
func (n *network) dial(ctx context.Context, network, addr string, server int) (net.Conn, error) {
	n.mu.Lock()
	if n.ended {
		n.mu.Unlock()
		return nil, &dialError{net.ErrClosed}
	}
	n.dialing.Add(1)
	n.mu.Unlock()
	defer n.dialing.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	key := n.key(orderConnections, server)
	n.pause.wait(key)
	conn, err := n.dialer(ctx, network, addr)
	if err != nil {
		n.pause.wait(key)
		return nil, &dialError{fmt.Errorf("dial %s: %w", addr, err)}
	}
	if n.pause == nil {
		// A process is paused as a whole; go-redis gets the socket itself,
		// which it can look into.
		return conn, nil
	}
	n.pause.wait(key)
	return n.keep(&pausedConn{Conn: conn, network: n, key: key})
}

func (n *network) keep(c *pausedConn) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ended {
		return nil, &dialError{errors.Join(net.ErrClosed, c.Conn.Close())}
	}
	n.conns[c] = struct{}{}
	return c, nil
}

// end closes every connection and refuses new ones: the client is gone.
func (n *network) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	n.cancel()
	for c := range n.conns {
		_ = c.Conn.Close() // whoever uses it hears of it there
	}
	clear(n.conns)
}

// pausedConn is a connection whose calls return only while no pause is on.
type pausedConn struct {
	net.Conn
	network *network
	key     scheduler.Key
}

func (c *pausedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.network.pause.wait(c.key)
	return n, err
}

func (c *pausedConn) Write(b []byte) (int, error) {
	c.network.pause.wait(c.key)
	n, err := c.Conn.Write(b)
	c.network.pause.wait(c.key)
	return n, err
}

func (c *pausedConn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

func (c *pausedConn) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }

// syscallConn is for go-redis, which asks a pooled connection, before it uses it, whether the server has closed it.
func syscallConn(conn net.Conn) (syscall.RawConn, error) {
	if under, ok := conn.(syscall.Conn); ok {
		return under.SyscallConn()
	}
	return nil, errNoDescriptor
}

var errNoDescriptor = errors.New("an in-memory connection has no file descriptor")

// failedConn stands for a connection that could not be made: whoever uses it
// hears why.
//
// go-redis counts the dials that fail. After as many as its pool is large it
// dials but once a second, and until then tells every caller of the last
// failure: a node that came back would be noticed late. So no dial fails.
type failedConn struct{ why error }

// withFailedConn gives the connection, or a failedConn instead of an error.
func withFailedConn(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return failedConn{err}, nil
	}
	return conn, nil
}

func (c failedConn) Read([]byte) (int, error)         { return 0, c.why }
func (c failedConn) Write([]byte) (int, error)        { return 0, c.why }
func (c failedConn) Close() error                     { return nil }
func (c failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c failedConn) SetDeadline(time.Time) error      { return nil }
func (c failedConn) SetReadDeadline(time.Time) error  { return nil }
func (c failedConn) SetWriteDeadline(time.Time) error { return nil }

// SyscallConn is where go-redis asks a pooled connection whether it is alive,
// before it uses it: one that nobody waited for any more has come into the pool.
func (c failedConn) SyscallConn() (syscall.RawConn, error) { return nil, c.why }
