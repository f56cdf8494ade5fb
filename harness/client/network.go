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
)

// quiet suppresses go-redis's log of unreachable nodes: here they are part of the experiment, and in the history.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// go-redis has one global logger without a mutex: it must be set before any client exists.
func init() { redis.SetLogger(quiet{}) }

// poolSize exceeds the connections that a client uses: each lost reply occupies one until the read timeout, some TTLs,
// and there are up to a hundred attempts in ten seconds. When a pool runs out, go-redis uses timers shared by all its
// pools, which synctest bubbles must not share.
func poolSize(ttl time.Duration) int {
	return int(min(max(minPoolSize, minPoolSize*ttl/(10*time.Second)), maxPoolSize))
}

const minPoolSize, maxPoolSize = 256, 8192

// bufferSize suits commands and replies of some hundred bytes; go-redis's 32 KiB would be most of the memory of a run
// in virtual time.
const bufferSize = 1024

// dialError marks a failed dial: its command did not reach the server. It has no Unwrap, since go-redis would unwrap
// it.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }

// network makes the client's connections and can end them all.
type network struct {
	dialer   func(ctx context.Context, network, addr string) (net.Conn, error)
	pause    *hold
	password string // the servers'

	ctx     context.Context // ends with the network
	cancel  context.CancelFunc
	dialing sync.WaitGroup

	mu    sync.Mutex
	conns map[*pausedConn]struct{}
	ended bool
}

func newNetwork(dialer func(context.Context, string, string) (net.Conn, error), pause *hold,
	password string) *network {
	n := &network{dialer: dialer, pause: pause, password: password, conns: map[*pausedConn]struct{}{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	return n
}

// options are for a Redis client to one server, to Sentinels or to a Redis Cluster at these addresses; server is the
// server's index. routes maps the addresses that Sentinels and clusters report to this client's own.
func (n *network) options(ttl time.Duration, server int, routes map[string]string,
	addresses ...string) *redis.UniversalOptions {
	// Long, so that the client learns the outcome of delayed replies in the background: the lock's own node timeout is
	// the short one.
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
		// A SET NX that is resent after a lost reply finds its own key and fails: scenarios about this set Resends.
		MaxRetries:    -1,
		DialerRetries: 1,
		DialTimeout:   dialTimeout(ttl),
		// Otherwise reads ignore their context's deadline.
		ContextTimeoutEnabled: true,
		ReadTimeout:           timeout,
		WriteTimeout:          timeout,
		PoolSize:              poolSize(ttl),
		PoolTimeout:           poolTimeout(timeout),
		PipelinePoolSize:      -1, // pipelines use the same connections
		ReadBufferSize:        bufferSize,
		WriteBufferSize:       bufferSize,
		// Disable commands unrelated to the lock: CLIENT SETINFO, RESP3's pushes, and the maintenance handshake, which
		// also opens a connection.
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// MasterName is the Sentinels' name for their master.
const MasterName = "lock"

// dialTimeout is longer than any node timeout, so that the lock's own timeout decides.
func dialTimeout(ttl time.Duration) time.Duration { return max(time.Second, ttl/10) }

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
	n.pause.wait(orderConnections, server)
	conn, err := n.dialer(ctx, network, addr)
	if err != nil {
		n.pause.wait(orderConnections, server)
		return nil, &dialError{fmt.Errorf("dial %s: %w", addr, err)}
	}
	if n.pause == nil {
		// SIGSTOP pauses a whole process; go-redis needs the socket itself, to check its state.
		return conn, nil
	}
	n.pause.wait(orderConnections, server)
	return n.keep(&pausedConn{Conn: conn, network: n, server: server})
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

// end closes every connection and refuses new ones.
func (n *network) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = true
	n.cancel()
	for c := range n.conns {
		_ = c.Conn.Close() // its user gets the error
	}
	clear(n.conns)
}

// pausedConn is a connection whose calls do not return during a pause.
type pausedConn struct {
	net.Conn
	network *network
	server  int
}

func (c *pausedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.network.pause.wait(orderConnections, c.server)
	return n, err
}

func (c *pausedConn) Write(b []byte) (int, error) {
	c.network.pause.wait(orderConnections, c.server)
	n, err := c.Conn.Write(b)
	c.network.pause.wait(orderConnections, c.server)
	return n, err
}

func (c *pausedConn) Close() error {
	c.network.mu.Lock()
	delete(c.network.conns, c)
	c.network.mu.Unlock()
	return c.Conn.Close()
}

func (c *pausedConn) SyscallConn() (syscall.RawConn, error) { return syscallConn(c.Conn) }

// syscallConn lets go-redis check, before it uses a pooled connection, whether the server has closed it.
func syscallConn(conn net.Conn) (syscall.RawConn, error) {
	if under, ok := conn.(syscall.Conn); ok {
		return under.SyscallConn()
	}
	return nil, errNoDescriptor
}

var errNoDescriptor = errors.New("an in-memory connection has no file descriptor")

// failedConn replaces a failed dial: each call returns the dial's error.
//
// After as many failed dials as its pool size, go-redis dials only once a second and returns the last failure to every
// caller until then, so it would use a recovered node late. With a failedConn, no dial fails.
type failedConn struct{ why error }

// withFailedConn returns the connection, or a failedConn instead of an error.
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

// SyscallConn fails, so that go-redis discards a pooled failedConn, which an abandoned dial may have put into the
// pool.
func (c failedConn) SyscallConn() (syscall.RawConn, error) { return nil, c.why }
