package redlock

import (
	"context"
	"errors"
	"fmt"
	"math"
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
// Client libraries have ways to dial past a client's hooks: one made by WithTimeout
// shares its parent's connections. So as long as no dial has been seen, every
// server is asked with every SET.
//
// Only a SET is a vote of a node's memory. An extension finds our own token,
// which nobody else puts there: the key is there now, and whoever forgets it after a
// restart is kept from voting by that restart. But what counts is a key that took the
// place of nobody's: where the yes to our SET did not count, as the server had
// forgotten others' keys, or came too late to be heard, the extension is vouched for as
// a SET is. A release takes back what is ours and promises nothing.
type guard struct {
	need    time.Duration // so long a server must have been up for
	dialled atomic.Int64  // connections so far
	covered atomic.Int64  // so many of them lead to a server that has been up for long enough; -1: none
	heard   atomic.Int64  // reading of options.now, in ns: the run was up then, or later

	mu    sync.Mutex    // of learn
	runID string        // of the run that answered last
	first time.Duration // reading of options.now when it had answered first: it began before
	after time.Duration // reading of options.now after which that run began, if began is set
	began bool          // in our time: another run was heard before it
}

// unsure makes a guard that knows nothing of the server.
func unsure(need time.Duration) *guard {
	g := &guard{need: need}
	g.covered.Store(-1)
	g.heard.Store(math.MinInt64) // a clock's origin is arbitrary
	return g
}

// newGuard makes the guard of one node, and counts its client's connections from
// here on. The commands of a cluster's or a ring's client go to several servers.
func newGuard(client redis.UniversalClient, need time.Duration) (*guard, error) {
	if _, ok := client.(*redis.Client); !ok {
		return nil, fmt.Errorf("WithRestartGuard: %T may speak to several servers; a node's client must be a *redis.Client", client)
	}
	g := unsure(need)
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
	dialled := g.dialled.Load()
	return dialled > 0 && g.covered.Load() == dialled
}

// hear notes that the run which answered last was up at this reading of options.now, or
// later. Of answers that overtake each other the latest question counts.
func (g *guard) hear(asked time.Duration) {
	for {
		before := g.heard.Load()
		if int64(asked) <= before || g.heard.CompareAndSwap(before, int64(asked)) {
			return
		}
	}
}

// learn takes in what a server said of itself: asked when so many connections
// had been dialled, at these readings of options.now. It returns for how long the
// server had been up, at least, when it was asked.
//
// Uptime is counted by the server's wall clock in whole seconds, and a clock that is
// stepped after the start makes it longer or shorter than it is. Our own clock knows better
// where the guard has heard this run before, which is as old as that at least; and
// where it has heard the one before this one, which began later.
func (g *guard) learn(who identity, dialled int64, asked, answered time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if another := g.runID != who.runID; another || who.runID == "" {
		if another && g.runID != "" {
			g.after, g.began = time.Duration(g.heard.Load()), true
		}
		g.runID, g.first = who.runID, answered
	}
	up := max(who.up-time.Second, asked-g.first)
	if g.began {
		up = min(up, answered-g.after)
	}
	g.hear(asked)
	if up >= g.need {
		g.covered.Store(max(g.covered.Load(), dialled))
	} else {
		g.covered.Store(-1)
	}
	return up
}

// guarded reports whether nodes need to have been up before they vote.
func (o *options) guarded() bool { return o.longestTTL > 0 && o.on(RestartGuard) }

// errUnguarded is for a server that does not tell its uptime.
var errUnguarded = errors.New("it does not tell its uptime, which WithRestartGuard needs: allow INFO")

// untold is the cause for a server of which no answer to INFO has come.
func untold(err error) error {
	var refused redis.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%w (%v)", errUnguarded, err)
	}
	return nodeCause(err)
}

// young is the cause for a server that has not been up for long enough.
func young(up, need time.Duration) error {
	return fmt.Errorf("%w: it has been up for %s, and may have forgotten keys until %s have passed",
		ErrRestarted, max(up, 0), need)
}

// setGuarded sends a lease's SET, and vouches for the server that carried it out: nil
// if that had been up for long enough. It takes the SET for sent when its attempt
// began, a little earlier, so that no lock costs a reading of the clock for each node.
func (n *node) setGuarded(ctx context.Context, l *Lease, set *redis.StringCmd) (unsure, err error) {
	r, g, asked := l.lock, n.guard, l.began
	dialled := g.dialled.Load()
	if g.sure() && n.identified.Load() {
		n.line.process(ctx, set)
		if g.sure() {
			g.hear(asked)
			return nil, nil
		}
		return n.vouch(ctx, r, asked), nil
	}
	who, unheard, err := n.setAndIdentify(ctx, r, set)
	if err != nil {
		return nil, err
	}
	if unheard != nil {
		return untold(unheard), nil
	}
	return g.decide(who, dialled, asked, r.now(), 0), nil
}

// extendGuarded sets the key's expiry anew, and vouches for the server that did, unless its
// yes to the lease's SET has counted. What it has forgotten since then was not ours.
func (n *node) extendGuarded(ctx context.Context, l *Lease) (vote, error) {
	if set, returned := l.sets.calls[n.index].outcome(); returned && set.vote == yes {
		return n.prolong(ctx, l)
	}
	sent := l.lock.now()
	vote, err := n.prolong(ctx, l)
	if vote == yes {
		if unsure := n.vouch(ctx, l.lock, sent); unsure != nil {
			return failed, unsure
		}
	}
	return vote, err
}

// vouch asks a server for its uptime after a command that was sent at a reading of options.now,
// or later: if it began long enough before that, it is the one that carried the command out.
func (n *node) vouch(ctx context.Context, r *Redlock, sent time.Duration) error {
	dialled, asked := n.guard.dialled.Load(), r.now()
	info := askWho(ctx)
	n.line.process(ctx, info)
	who, err := identify(info)
	if err != nil {
		return untold(err)
	}
	answered := r.now()
	return n.guard.decide(who, dialled, asked, answered, answered-sent)
}

// decide says whether a server's word is good for a command that was carried out no
// longer than since before it was asked.
func (g *guard) decide(who identity, dialled int64, asked, answered, since time.Duration) error {
	if !who.tellsUp {
		return errUnguarded
	}
	if up := g.learn(who, dialled, asked, answered) - since; up < g.need {
		return young(up, g.need)
	}
	return nil
}
