package redlock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// longest is the guard's longest TTL, and settled is past what it asks for.
const (
	longest = 10 * time.Second
	settled = longest + 3*time.Second
)

// process is a server that can restart without its keys: it tells its run and,
// by its wall clock, its uptime in whole seconds.
type process struct {
	*miniredis.Miniredis
	mu      sync.Mutex
	run     int
	started time.Time
	step    time.Duration // of the wall clock, after the start
	asked   atomic.Int32  // INFO
	conns   []net.Conn
}

func newProcess(m *miniredis.Miniredis, index int) *process {
	p := &process{Miniredis: m, run: 100 * (index + 1), started: time.Now()}
	p.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
		if cmd != "INFO" {
			return false
		}
		p.asked.Add(1)
		p.mu.Lock()
		defer p.mu.Unlock()
		up := time.Now().Add(p.step).Unix() - p.started.Unix()
		c.WriteBulk(fmt.Sprintf("# Server\r\nrun_id:%040d\r\nuptime_in_seconds:%d\r\n", p.run, up))
		return true
	})
	return p
}

// restart ends all connections and forgets all keys.
func (p *process) restart() {
	p.restartBehindProxy()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

// restartBehindProxy forgets all keys, and somebody keeps the connections open.
func (p *process) restartBehindProxy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run++
	p.started, p.step = time.Now(), 0
	p.FlushAll()
}

// drop ends all connections. p.mu is held.
func (p *process) drop() {
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.conns = nil
}

func (p *process) setForward(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step += d
}

// processes is a cluster of them.
type processes struct {
	*cluster
	all []*process
}

func processesOf(c *cluster) *processes {
	ps := &processes{cluster: c}
	for i, m := range c.servers {
		ps.all = append(ps.all, newProcess(m, i))
	}
	return ps
}

// onProcesses runs a test on three of them.
func onProcesses(t *testing.T, test func(*testing.T, *processes)) {
	t.Helper()
	inBubble(t, 3, func(t *testing.T, c *cluster) { test(t, processesOf(c)) })
}

// user makes a client whose connections end when their server restarts.
func (ps *processes) user(seed uint64, setup func(*redis.Options), opts ...Option) *user {
	i := 0
	return ps.userWith(seed, ps.servers, func(o *redis.Options) {
		p, dial := ps.all[i], o.Dialer
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
		setup(o)
	}, append([]Option{WithRestartGuard(longest)}, opts...)...)
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

func plain(*redis.Options) {}

func (ps *processes) info() (n int) {
	for _, p := range ps.all {
		n += int(p.asked.Load())
	}
	return n
}

// tryReconnected tries to take the lock, and takes it back, until no connection is
// left that has ended meanwhile. It returns the last try's error.
func (u *user) tryReconnected(t *testing.T) (err error) {
	for range 5 {
		var l *Lease
		if l, err = u.TryAcquire(t.Context(), key, ttl); err == nil {
			require.NoError(t, l.Release(t.Context()))
		}
		synctest.Wait()
	}
	return err
}

// The example of redis.io's section on crash recovery: the node that both majorities
// share restarts without its keys. Is the other let in?
func restartWithoutKeys(t *testing.T, c *cluster, opts ...Option) bool {
	ps := processesOf(c)
	time.Sleep(settled)
	holder, other := ps.user(1, plain, opts...), ps.user(2, plain, opts...)
	holder.reach(1, 2, 3)
	other.reach(3, 4, 5)
	holder.must(t)
	ps.all[2].restart()
	_, err := other.TryAcquire(t.Context(), key, ttl)
	return err == nil
}

func TestRestartedServerDoesNotVote(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u1, u2 := ps.user(1, plain), ps.user(2, plain)
		u1.reach(1, 2)
		u2.reach(2, 3)
		u1.must(t)
		ps.all[1].restart()
		_, err := u2.TryAcquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, ErrNoMajority)
		require.ErrorIs(t, err, ErrRestarted)
		require.ErrorContains(t, err, "node 1 (n2:6379): the server has started not long ago: it has been up for 0s, "+
			"and may have forgotten keys until 10.102s have passed")
		synctest.Wait()
		require.Empty(t, ps.owners()[1], "what does not count is given back")

		time.Sleep(settled)
		require.NoError(t, u2.must(t).Release(t.Context()))
	})
}

// All have just been started: nobody gets the lock before the longest TTL is over,
// and then at once.
func TestNewServersVoteAfterTheLongestTTL(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		u := ps.user(1, plain)
		before := time.Now()
		l, err := u.Acquire(t.Context(), key, ttl)
		require.NoError(t, err)
		waited := time.Since(before)
		require.Greater(t, waited, longest)
		require.Less(t, waited, settled)
		synctest.Wait()
		require.NoError(t, l.Extend(t.Context()))
		require.NoError(t, l.Release(t.Context()))
	})
}

// Uptimes are asked for when connections are new, and then no more.
func TestGuardCostsNothingForEachLock(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u := ps.user(1, plain)
		for range 3 {
			require.NoError(t, u.must(t).Release(t.Context()))
			synctest.Wait()
		}
		asked := ps.info()
		require.LessOrEqual(t, asked, 9)
		for range 100 {
			require.NoError(t, u.must(t).Release(t.Context()))
			synctest.Wait()
		}
		require.Equal(t, asked, ps.info())
		ps.all[0].restart()
		require.NoError(t, u.tryReconnected(t), "the other two are as they were")
		require.Greater(t, ps.info(), asked, "a new connection is a new question")
	})
}

// The client library sends the SET again on a new connection, of which nobody has
// asked yet to whom it leads.
func TestVoteOnAConnectionDialledMeanwhile(t *testing.T) {
	for name, restarted := range map[string]bool{"to the same server": false, "to one that has restarted": true} {
		t.Run(name, func(t *testing.T) {
			onProcesses(t, func(t *testing.T, ps *processes) {
				time.Sleep(settled)
				u := ps.user(1, func(o *redis.Options) { o.MaxRetries = 1 })
				u.reach(1, 2)
				for range 3 {
					require.NoError(t, u.must(t).Release(t.Context()))
					synctest.Wait()
				}
				asked := ps.all[0].asked.Load()
				p := ps.all[0]
				var once sync.Once
				u.each(func(l *link) {
					l.onCommand(func(command string) error {
						if command == "set" {
							once.Do(func() {
								if restarted {
									p.restart()
									return
								}
								p.mu.Lock()
								defer p.mu.Unlock()
								p.drop()
							})
						}
						return nil
					})
				}, 1)
				_, err := u.TryAcquire(t.Context(), key, ttl)
				synctest.Wait()
				if restarted {
					require.ErrorIs(t, err, ErrRestarted)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, asked+1, p.asked.Load(), "it was asked after the SET, and once")
			})
		})
	}
}

// A server whose clock ran late when it started seems to have been up for long
// once the clock is right. Who knew the run before is not fooled.
func TestUptimeIsNoLongerThanTheRunBeforeAllows(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u1, u2 := ps.user(1, plain), ps.user(2, plain)
		for range 2 {
			require.NoError(t, u1.must(t).Release(t.Context()))
			synctest.Wait()
		}
		for _, p := range ps.all {
			p.restart()
			p.setForward(time.Hour)
		}
		require.ErrorIs(t, u1.tryReconnected(t), ErrRestarted)
		time.Sleep(settled)
		require.NoError(t, u1.must(t).Release(t.Context()), "its own clock has seen to it by now")

		for _, p := range ps.all {
			p.restart()
			p.setForward(time.Hour)
		}
		u2.must(t) // it has no other source: see WithRestartGuard
	})
}

// A restart that ends no connection of the client's is not seen by it: see WithRestartGuard.
// A client whose connections are newer sees it.
func TestGuardDoesNotSeeThroughAProxy(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(settled)
		u1, u2, u3 := ps.user(1, plain), ps.user(2, plain), ps.user(3, plain)
		for range 3 { // until no connection is newer than what it knows
			u2.warmUp(t)
		}
		u1.reach(1, 2)
		u2.reach(2, 3)
		u3.reach(2, 3)
		u1.must(t)
		ps.all[1].restartBehindProxy()
		_, err := u3.TryAcquire(t.Context(), key, ttl)
		require.ErrorIs(t, err, ErrRestarted)
		synctest.Wait()
		u2.must(t) // beside u1, whose lease has not ended
	})
}

func TestGuardNeedsAnUptime(t *testing.T) {
	for name, answer := range map[string]func(*server.Peer){
		"refused":         func(p *server.Peer) { p.WriteError("NOPERM no permissions to run the 'info' command") },
		"without uptime":  func(p *server.Peer) { p.WriteBulk("# Server\r\nrun_id:1\r\n") },
		"that is no time": func(p *server.Peer) { p.WriteBulk("# Server\r\nuptime_in_seconds:long\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, c *cluster) {
				c.servers[0].Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
					if cmd != "INFO" {
						return false
					}
					answer(p)
					return true
				})
				u := c.user(1, WithRestartGuard(longest))
				for range 2 {
					_, err := u.TryAcquire(t.Context(), key, ttl)
					require.ErrorIs(t, err, ErrNoMajority)
					require.ErrorContains(t, err, "it does not tell its uptime, which WithRestartGuard needs: allow INFO")
					synctest.Wait()
				}
			})
		})
	}
}

func TestGuardIsRefusedWhereItCannotHelp(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		_, err := ps.user(1, plain).TryAcquire(t.Context(), key, longest+time.Millisecond)
		require.EqualError(t, err, `redlock: acquire "k1": a TTL of 10.001s is longer than WithRestartGuard says that any is: 10s`)
		time.Sleep(settled)
		_, err = ps.user(2, plain).TryAcquire(t.Context(), key, longest)
		require.NoError(t, err)
	})
	client := redis.NewClient(&redis.Options{})
	defer client.Close()
	_, err := New([]redis.UniversalClient{client}, WithRestartGuard(time.Millisecond-1))
	require.EqualError(t, err, "redlock: WithRestartGuard: 999.999µs must be the longest TTL in use, a millisecond or more")
	_, err = New([]redis.UniversalClient{client}, WithRestartGuard(time.Millisecond))
	require.NoError(t, err)

	many := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer many.Close()
	_, err = New([]redis.UniversalClient{many}, WithRestartGuard(longest))
	require.EqualError(t, err, "redlock: node 0: WithRestartGuard: *redis.ClusterClient may speak to several servers; "+
		"a node's client must be a *redis.Client")
}

func TestWhoIsAskedAfterTheSetVouchesForThen(t *testing.T) {
	onProcesses(t, func(t *testing.T, ps *processes) {
		time.Sleep(longest + 2*time.Second)
		u := ps.user(1, plain)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		now := u.clock.Now()
		require.NoError(t, u.nodes[0].vouch(ctx, u.Redlock, now))
		require.ErrorIs(t, u.nodes[0].vouch(ctx, u.Redlock, now-2*time.Second), ErrRestarted)
	})
}
