package locktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
)

// Env is the environment of one client of the lock: servers, settings, clock and randomness.
type Env struct {
	// TTL is the time to live of a lease.
	TTL time.Duration
	// RetryMin and RetryMax bound the delay between two attempts, and NodeTimeout bounds a command to one server, for
	// locks with such options.
	RetryMin, RetryMax, NodeTimeout time.Duration
	// Tries is the number of attempts of one Acquire, 0 for until its context ends.
	Tries int
	// Drift is the part of the TTL reserved for clocks that run at different rates.
	Drift float64
	// Rand is a source for tokens and jitter: with it, one seed gives one history. It is safe for concurrent use.
	Rand io.Reader

	env  locks.Env
	used *usage
}

// Server is one of the lock's servers, as this client reaches it.
type Server = locks.Server

// Clock is the client's own clock, which faults set and skew.
type Clock = redlock.Clock

// Server returns a server, counted from 0, for a client library that connects by Env.Dial.
func (e Env) Server(i int) Server {
	e.used.server(i)
	return e.env.Servers[i]
}

// Servers returns all servers: the number set by Nodes, or else five, unless a scenario sets another.
func (e Env) Servers() []Server {
	e.used.server(len(e.env.Servers) - 1)
	return e.env.Servers
}

// Dial connects to a server over the client's own link, where faults act. In virtual time no other connection reaches
// the server; in real time faults do not affect other connections. network is ignored.
func (e Env) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.env.Dial(ctx, network, addr)
}

// Client makes a go-redis client of a server, with go-redis's defaults where options set nothing else: you choose the
// retries, the timeouts and the pool. The harness closes it.
func (e Env) Client(i int, options ...func(*redis.Options)) *redis.Client {
	e.used.server(i)
	client := e.env.Redis(i, options...)
	if !client.Options().ContextTimeoutEnabled {
		e.used.noDeadlines.Store(true)
	}
	return client
}

// Clients makes one client of each server.
func (e Env) Clients(options ...func(*redis.Options)) []*redis.Client {
	all := make([]*redis.Client, len(e.Servers()))
	for i := range all {
		all[i] = e.Client(i, options...)
	}
	return all
}

// Clock returns the client's own clock, for a lock that can use one. Scenarios that change the clock of one client
// need a lock that calls Clock.
func (e Env) Clock() Clock {
	e.used.ownClock.Store(true)
	return e.env.Clock
}

// Context ends with the client: for a lock's background work.
func (e Env) Context() context.Context { return e.env.Context }

// usage records the lock's calls of Env, from several goroutines.
type usage struct {
	available int // servers
	ownClock  atomic.Bool
	// noDeadlines: a go-redis client ignores the deadline of its caller's context.
	noDeadlines atomic.Bool

	mu   sync.Mutex
	uses int // the lock uses this many servers, the first ones
}

func (u *usage) server(i int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.uses = max(u.uses, i+1)
}

// servers is the number of servers that the lock uses, at least one.
func (u *usage) servers() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(1, u.uses)
}

func (u *usage) notices() []string {
	var all []string
	if uses := u.servers(); uses > 1 && uses < u.available {
		all = append(all, fmt.Sprintf("it uses %d of the %d servers that it is given: "+
			"the situations are those of %[1]d servers", uses, u.available))
	}
	if u.noDeadlines.Load() {
		all = append(all, "go-redis ignores the deadline of its caller's context: set ContextTimeoutEnabled")
	}
	return all
}

func newEnv(env locks.Env) Env {
	return Env{
		TTL: env.TTL, RetryMin: env.RetryMin, RetryMax: env.RetryMax, NodeTimeout: env.NodeTimeout, Tries: env.Tries,
		Drift: env.Drift, Rand: env.Rand, env: env, used: &usage{available: len(env.Servers)},
	}
}
