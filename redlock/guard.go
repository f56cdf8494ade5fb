package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// guard keeps a node from voting until its server has been up for longer than
// any key of the lock lives: until then the server may have forgotten one.
//
// A restart ends every connection. So a server whose uptime is known needs
// asking again only when there is a connection that was dialled since: the guard
// counts them by a hook. A yes counts if the same write brought the uptime of the
// server that gave it, or if by then no connection is newer than the last
// uptime; else the server is asked once more. What was dialled in between may lead
// to a server that has just started, and the question decides it.
//
// Only a SET is a vote of a node's memory. An extension finds our own token,
// which nobody else puts there: the key is there now, whatever was forgotten
// before, and whoever forgets it after a restart is kept from voting by that
// restart. A release takes back what is ours and promises nothing.
type guard struct {
	need    time.Duration // so long a server must have been up for
	dialled atomic.Int64  // connections so far
	heard   atomic.Int64  // reading of Clock.Now, in ns: the run was up then, or later

	mu      sync.Mutex
	covered int64         // so many of the connections lead to a server that has been up for long enough; -1: none
	runID   string        // of the run that answered last
	after   time.Duration // reading of Clock.Now after which that run began, if began is set
	began   bool          // in our time: another run was heard before it
}

// newGuard makes the guard of one node, and counts its client's connections from
// here on. The commands of a cluster's or a ring's client go to several servers.
func newGuard(client redis.UniversalClient, need time.Duration) (*guard, error) {
	if _, ok := client.(*redis.Client); !ok {
		return nil, fmt.Errorf("WithRestartGuard: %T may speak to several servers; a node's client must be a *redis.Client", client)
	}
	g := &guard{need: need, covered: -1}
	client.AddHook(g)
	return g, nil
}

// DialHook counts a connection once it stands, and before anything is sent on it.
func (g *guard) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err == nil {
			g.dialled.Add(1)
		}
		return conn, err
	}
}

// ProcessHook leaves commands alone.
func (g *guard) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook leaves pipelines alone.
func (g *guard) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// sure reports whether the server is known to have been up for long enough on
// every connection that there is.
func (g *guard) sure() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.covered == g.dialled.Load()
}

// learn takes in what a server said of itself: asked when so many connections
// had been dialled, at these readings of Clock.Now. It returns for how long the
// server had been up, at least, when it was asked.
//
// Uptime is counted by the server's wall clock in whole seconds. One that is
// stepped forward after the start makes it longer than it is. Where the guard has
// heard the run before this one, it knows better: this one began later.
func (g *guard) learn(who identity, dialled int64, asked, answered time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runID != "" && g.runID != who.runID {
		g.after, g.began = time.Duration(g.heard.Load()), true
	}
	g.runID = who.runID
	up := who.up - time.Second
	if g.began {
		up = min(up, answered-g.after)
	}
	g.heard.Store(int64(asked))
	if up >= g.need {
		g.covered = max(g.covered, dialled)
	} else {
		g.covered = -1
	}
	return up
}

// guarded reports whether nodes need to have been up before they vote.
func (o *options) guarded() bool { return o.longestTTL > 0 && o.on(RestartGuard) }

// errUnguarded is for a server that does not tell its uptime.
var errUnguarded = errors.New("it does not tell its uptime, which WithRestartGuard needs: allow INFO")

// young is the cause for a server that has not been up for long enough.
func young(up, need time.Duration) error {
	return fmt.Errorf("%w: it has been up for %s, and may have forgotten keys until %s have passed",
		ErrRestarted, max(up, 0), need)
}

// setGuarded sends a SET, and vouches for the server that carried it out: nil if
// that had been up for long enough.
func (n *node) setGuarded(ctx context.Context, r *Redlock, set *redis.StringCmd) (unsure, err error) {
	g := n.guard
	dialled, asked := g.dialled.Load(), r.clock.Now()
	if g.sure() && n.identified.Load() {
		n.line.process(ctx, set)
		if g.sure() {
			g.heard.Store(int64(asked))
			return nil, nil
		}
		return n.vouch(ctx, r, asked), nil
	}
	who, err := n.setAndIdentify(ctx, r, set)
	if err != nil {
		return nil, err
	}
	return g.decide(who, dialled, asked, r.clock.Now(), 0), nil
}

// vouch asks a server for its uptime after a SET that was sent at a reading of
// Clock.Now: if it began long enough before that, it is the one that carried the
// SET out.
func (n *node) vouch(ctx context.Context, r *Redlock, sent time.Duration) error {
	dialled, asked := n.guard.dialled.Load(), r.clock.Now()
	info := askWho(ctx)
	n.line.process(ctx, info)
	who, err := identify(info)
	if err != nil {
		return nodeCause(err)
	}
	answered := r.clock.Now()
	return n.guard.decide(who, dialled, asked, answered, answered-sent)
}

// decide says whether a server's word is good for a SET that was carried out no
// longer than since before it was asked.
func (g *guard) decide(who identity, dialled int64, asked, answered, since time.Duration) error {
	if who.up < 0 {
		return errUnguarded
	}
	if up := g.learn(who, dialled, asked, answered) - since; up < g.need {
		return young(up, g.need)
	}
	return nil
}
