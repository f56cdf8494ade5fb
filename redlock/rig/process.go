package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	peer "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/guard"
	"example.org/lockproof/redlock/server"
)

// Longest is the guard's longest TTL, and Settled is past what it asks for.
const (
	Longest = 10 * time.Second
	Settled = Longest + 3*time.Second
)

// Process is a server that can restart without its keys: it tells its run and,
// by its wall clock, its uptime in whole seconds.
type Process struct {
	*miniredis.Miniredis
	mu      sync.Mutex
	run     int
	started time.Time
	step    time.Duration // of the wall clock, after the start
	Asked   atomic.Int32  // INFO
	conns   []net.Conn
}

func newProcess(m *miniredis.Miniredis, index int) *Process {
	p := &Process{Miniredis: m, run: 100 * (index + 1), started: time.Now()}
	p.Server().SetPreHook(func(c *peer.Peer, cmd string, args ...string) bool {
		if cmd != "INFO" {
			return false
		}
		p.Asked.Add(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		up := time.Now().Add(p.step).Unix() - p.started.Unix()
		c.WriteBulk(fmt.Sprintf("# Server\r\nrun_id:%040d\r\nuptime_in_seconds:%d\r\n", p.run, up))
		return true
	})
	return p
}

// Restart ends all connections and forgets all keys.
func (p *Process) Restart() {
	p.RestartBehindProxy()
	p.Drop()
}

// RestartBehindProxy forgets all keys, and somebody keeps the connections open.
func (p *Process) RestartBehindProxy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run++
	p.started, p.step = time.Now(), 0
	p.FlushAll()
}

// Drop ends all connections.
func (p *Process) Drop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

// SetForward steps the wall clock.
func (p *Process) SetForward(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step += d
}

// Processes is a cluster of them.
type Processes struct {
	*Cluster
	All []*Process
}

// ProcessesOf makes the servers of a cluster such ones.
func ProcessesOf(c *Cluster) *Processes {
	ps := &Processes{Cluster: c}
	for i, m := range c.Servers {
		ps.All = append(ps.All, newProcess(m, i))
	}
	return ps
}

// OnProcesses runs a test on three of them.
func OnProcesses(t *testing.T, test func(*testing.T, *Processes)) {
	t.Helper()
	InBubble(t, 3, func(t *testing.T, c *Cluster) { test(t, ProcessesOf(c)) })
}

// Guarded has servers told apart and, if there is a longest TTL, kept from voting after a restart.
func Guarded(longest time.Duration) Option {
	return Decorated(func(o redlock.Options) []server.Decorator {
		return []server.Decorator{guard.Servers(guard.Options{Longest: longest, Clock: o.Clock, Without: o.Without})}
	})
}

// Guarded makes a client whose connections end when their server restarts, with a restart guard.
func (ps *Processes) Guarded(seed uint64, opts ...Option) *User {
	i := 0
	return ps.User(seed, append([]Option{Guarded(Longest), Clients(func(o *redis.Options) {
		p, dial := ps.All[i], o.Dialer
		i++
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.conns = append(p.conns, conn)
			return endedConn{conn}, nil
		}
	})}, opts...)...)
}

// endedConn tells of its end as a socket does, and not as a pipe.
type endedConn struct{ net.Conn }

func (c endedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, ending(err)
}

func (c endedConn) SetReadDeadline(t time.Time) error  { return ending(c.Conn.SetReadDeadline(t)) }
func (c endedConn) SetWriteDeadline(t time.Time) error { return ending(c.Conn.SetWriteDeadline(t)) }

func ending(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

// Asked counts the questions to all.
func (ps *Processes) Asked() (n int) {
	for _, p := range ps.All {
		n += int(p.Asked.Load())
	}
	return n
}
