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

// Env is the world of one client of the lock: its servers, and what it may take
// from outside.
type Env struct {
	// TTL is for how long the lock is to be taken.
	TTL time.Duration
	// RetryMin and RetryMax are between which delays between two tries are to be,
	// and NodeTimeout bounds a command to one server, for locks that take them.
	RetryMin, RetryMax, NodeTimeout time.Duration
	// Tries is how often one Acquire is to try, 0 for until its context ends.
	Tries int
	// Drift is the part of the TTL to be set aside for clocks that run apart.
	Drift float64
	// Rand is where tokens and jitter may come from: one seed then gives one
	// history. It may be used by several goroutines.
	Rand io.Reader

	env  locks.Env
	used *usage
}

// Server is one of the lock's servers, as this client reaches it.
type Server = locks.Server

// Clock is the client's own clock, which faults set and skew.
type Clock = redlock.Clock

// Server gives the address of a server, from 0, for a client of any library that
// connects by Env.Dial.
func (e Env) Server(i int) Server {
	e.used.server(i)
	return e.env.Servers[i]
}

// Servers gives all of them: as many as Nodes says, or else five, unless a scenario says otherwise.
func (e Env) Servers() []Server {
	e.used.server(len(e.env.Servers) - 1)
	return e.env.Servers
}

// Dial connects to a server over the client's own link, on which faults befall it.
// No other way leads there in virtual time, and no fault meets who goes another
// way in real time. network is ignored.
func (e Env) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return e.env.Dial(ctx, network, addr)
}

// Client makes a go-redis client of a server. It has go-redis's defaults but for
// what the options set: the retries, the timeouts and the pool are yours. The
// harness closes it.
func (e Env) Client(i int, options ...func(*redis.Options)) *redis.Client {
	e.used.server(i)
	client := e.env.Redis(i, options...)
	if !client.Options().ContextTimeoutEnabled {
		e.used.noDeadlines.Store(true)
	}
	return client
}

// Clients makes one of each server.
func (e Env) Clients(options ...func(*redis.Options)) []*redis.Client {
	all := make([]*redis.Client, len(e.Servers()))
	for i := range all {
		all[i] = e.Client(i, options...)
	}
	return all
}

// Clock gives the client's own clock, for a lock that takes one. Scenarios that set
// the clock of one client are only for locks that have asked for it.
func (e Env) Clock() Clock {
	e.used.ownClock.Store(true)
	return e.env.Clock
}

// Context ends with the client: for what a lock does in the background.
func (e Env) Context() context.Context { return e.env.Context }

// usage is what a lock has asked for when it was made; several goroutines note it.
type usage struct {
	given    int // servers
	ownClock atomic.Bool
	// noDeadlines: a client of go-redis waits for longer than its caller's context lasts.
	noDeadlines atomic.Bool

	mu   sync.Mutex
	uses int // of the servers, the first so many
}

// server notes that a server was asked for.
func (u *usage) server(i int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.uses = max(u.uses, i+1)
}

// servers is how many of them the lock uses: one at least, whatever it asks for.
func (u *usage) servers() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return max(1, u.uses)
}

// notices are for the lock's user.
func (u *usage) notices() []string {
	var all []string
	if uses := u.servers(); uses > 1 && uses < u.given {
		all = append(all, fmt.Sprintf("it uses %d of the %d servers that it is given: "+
			"the situations are those of %[1]d servers", uses, u.given))
	}
	if u.noDeadlines.Load() {
		all = append(all, "go-redis ignores the deadline of its caller's context: set ContextTimeoutEnabled")
	}
	return all
}

func newEnv(env locks.Env) Env {
	return Env{
		TTL: env.TTL, RetryMin: env.RetryMin, RetryMax: env.RetryMax, NodeTimeout: env.NodeTimeout, Tries: env.Tries,
		Drift: env.Drift, Rand: env.Rand, env: env, used: &usage{given: len(env.Servers)},
	}
}
