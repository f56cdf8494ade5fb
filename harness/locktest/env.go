package locktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
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
	used *usageNotes
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
		e.used.note(func(u *serverUsage) { u.noDeadlines = true })
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
	e.used.note(func(u *serverUsage) { u.ownClock = true })
	return e.env.Clock
}

// Context ends with the client: for what a lock does in the background.
func (e Env) Context() context.Context { return e.env.Context }

// serverUsage is what a lock has asked for when it was made.
type serverUsage struct {
	given    int // servers
	highest  int // of those that were asked for
	ownClock bool
	// noDeadlines: a client of go-redis waits for longer than its caller's context lasts.
	noDeadlines bool
}

// servers is how many of them the lock uses.
func (u serverUsage) servers() int { return u.highest + 1 }

// notices are for the lock's user.
func (u serverUsage) notices() []string {
	var all []string
	if u.highest > 0 && u.servers() < u.given {
		all = append(all, fmt.Sprintf("it uses %d of the %d servers that it is given: "+
			"the situations are those of %[1]d servers", u.servers(), u.given))
	}
	if u.noDeadlines {
		all = append(all, "go-redis ignores the deadline of its caller's context: set ContextTimeoutEnabled")
	}
	return all
}

// usageNotes is a serverUsage that several goroutines note.
type usageNotes struct {
	mu   sync.Mutex
	seen serverUsage
}

func (n *usageNotes) note(what func(*serverUsage)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what(&n.seen)
}

// server notes that a server was asked for.
func (n *usageNotes) server(i int) {
	n.note(func(u *serverUsage) { u.highest = max(u.highest, i) })
}

func (n *usageNotes) read() serverUsage {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen
}

func newEnv(env locks.Env) Env {
	return Env{
		TTL: env.TTL, RetryMin: env.RetryMin, RetryMax: env.RetryMax, NodeTimeout: env.NodeTimeout, Tries: env.Tries,
		Drift: env.Drift, Rand: env.Rand, env: env, used: &usageNotes{seen: serverUsage{given: len(env.Servers)}},
	}
}
