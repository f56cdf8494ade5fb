package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/server"
)

// Options set up a guard. The zero value refuses duplicate servers only.
type Options struct {
	// Longest is the longest TTL of any lock on these servers; all clients of the same keys must use the guard. A
	// server does not vote for that long after its start, plus the margin and some two seconds. 0: no restart guard.
	Longest time.Duration
	Drift   float64        // as in redlock.Options
	Clock   redlock.Clock  // as in redlock.Options
	Without []redlock.Rule // DistinctNodes, RestartGuard and DriftMargin matter
}

// Servers returns the guard as a decorator.
func Servers(o Options) server.Decorator {
	return func(servers []*server.Server, nodes []redlock.Node) error {
		if err := o.complete(); err != nil {
			return err
		}
		l := &list{Options: o, servers: map[string]*server.Server{}}
		for i, s := range servers {
			n := &node{Server: s, next: nodes[i], list: l}
			if o.Longest != 0 && l.on(redlock.RestartGuard) {
				if _, ok := s.Client.(*redis.Client); !ok {
					return fmt.Errorf("guard: node %d: want a *redis.Client, which uses one server, got %T", i, s.Client)
				}
				n.uptime = newUptime(l.need())
				s.Client.AddHook(n.uptime)
			}
			nodes[i] = n
		}
		return nil
	}
}

// complete sets defaults, and refuses invalid options: they could switch the guard off in silence.
func (o *Options) complete() error {
	o.Drift, o.Clock = cmp.Or(o.Drift, redlock.DefaultDrift), cmp.Or(o.Clock, redlock.SystemClock())
	for _, rule := range o.Without {
		if _, err := redlock.ParseRule(string(rule)); err != nil {
			return fmt.Errorf("guard: %w", err)
		}
	}
	switch {
	case o.Longest != 0 && o.Longest < time.Millisecond:
		return fmt.Errorf("guard: Options.Longest %s: want 1ms or more, or 0 for no restart guard", o.Longest)
	case !(o.Drift >= 0 && o.Drift < 1):
		return fmt.Errorf("guard: Options.Drift %v: want a part of the TTL, from 0 to less than 1", o.Drift)
	}
	return nil
}

// list is the state that the nodes of one lock share.
type list struct {
	Options
	mu        sync.Mutex
	servers   map[string]*server.Server // by run id
	duplicate error                     // permanent: the list is wrong
}

func (l *list) on(rule redlock.Rule) bool { return !slices.Contains(l.Without, rule) }

// need is the uptime from which a server may vote: until then an older lease may last.
func (l *list) need() time.Duration {
	if !l.on(redlock.DriftMargin) {
		return l.Longest
	}
	return l.Longest + time.Duration(float64(l.Longest)*l.Drift) + 2*time.Millisecond
}

// claim records that a node uses a server, and fails if another node does. From then on nothing is sent: the list is
// wrong.
func (l *list) claim(runID string, s *server.Server) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	other := l.servers[runID]
	if other == nil || other == s {
		l.servers[runID] = s
		return nil
	}
	a, b := other, s
	if a.Index > b.Index {
		a, b = b, a
	}
	l.duplicate = fmt.Errorf("%w: nodes %d (%s) and %d (%s) are one server with run id %s; want independent servers, "+
		"each listed once",
		redlock.ErrDuplicateNode, a.Index, a, b.Index, b, runID)
	return l.duplicate
}

func (l *list) refuse(ttl time.Duration) error {
	if l.Longest > 0 && l.on(redlock.RestartGuard) && ttl > l.Longest {
		return fmt.Errorf("%w: a TTL of %s is above the guard's Longest, %s (%w)",
			redlock.ErrRefused, ttl, l.Longest, redlock.ErrNotSent)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.duplicate != nil {
		return fmt.Errorf("%w (%w)", l.duplicate, redlock.ErrNotSent)
	}
	return nil
}

type node struct {
	*server.Server
	next       redlock.Node
	list       *list
	uptime     *uptime     // nil without a restart guard
	identified atomic.Bool // the server has sent its run id, or refused to
}

// SetIfAbsent counts only the reply of a server that may vote.
func (n *node) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	if err := n.list.refuse(c.TTL); err != nil {
		return false, "", err
	}
	if n.uptime == nil {
		if n.identified.Load() || !n.list.on(redlock.DistinctNodes) {
			return n.next.SetIfAbsent(ctx, c)
		}
		absent, holder, _, err = n.setAndIdentify(ctx, c)
		return absent, holder, err
	}
	asked, dialled := n.list.Clock.Now(), n.uptime.dialled.Load()
	var unverified error
	if n.uptime.verified() && n.identified.Load() {
		absent, holder, err = n.next.SetIfAbsent(ctx, c)
		switch {
		case n.uptime.verified():
			n.uptime.recordAlive(asked)
		case err == nil && (absent || holder == c.Token): // the SET may have used a new connection
			unverified = n.verifyUptime(ctx, asked)
		}
	} else {
		var info *redis.StringCmd
		if absent, holder, info, err = n.setAndIdentify(ctx, c); err == nil {
			unverified = n.uptime.decide(info, dialled, asked, n.list.Clock.Now(), 0)
		}
	}
	if err == nil && unverified != nil && (absent || holder == c.Token) {
		return false, "", unverified
	}
	return absent, holder, err
}

// setAndIdentify sends INFO with a SET. A server that answers the SET but refuses INFO stays unverified.
func (n *node) setAndIdentify(ctx context.Context,
	c redlock.Claim) (absent bool, holder string, info *redis.StringCmd, err error) {
	info = server.Info(ctx)
	absent, holder, err = n.SetAfter(ctx, c, info)
	runID := server.InfoField(info.Val(), "run_id")
	if runID != "" && n.list.on(redlock.DistinctNodes) {
		if err := n.list.claim(runID, n.Server); err != nil {
			return false, "", info, err
		}
	}
	var refused redis.Error
	if info.Err() == nil || errors.As(info.Err(), &refused) && err == nil {
		n.identified.Store(true)
	}
	return absent, holder, info, err
}

// DeleteIfEqual needs no vote: a release promises nothing.
func (n *node) DeleteIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	return n.next.DeleteIfEqual(ctx, c)
}

// ExpireIfEqual finds our own token, which no other client stores: the key is there now, and a server that forgets it
// in a restart may not vote because of that restart. But if our SET's yes did not count, because the server had
// forgotten others' keys or answered too late, the extension needs a server that may vote, as a SET does.
func (n *node) ExpireIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	sent := n.list.Clock.Now()
	done, err := n.next.ExpireIfEqual(ctx, c)
	if n.uptime != nil && done && !c.Granted {
		if unverified := n.verifyUptime(ctx, sent); unverified != nil {
			return false, unverified
		}
	}
	return done, err
}

// verifyUptime queries a server's uptime after a command that was sent at a reading of the clock or later. A server
// that started long enough before that reading has carried out the command.
func (n *node) verifyUptime(ctx context.Context, sent time.Duration) error {
	dialled, asked := n.uptime.dialled.Load(), n.list.Clock.Now()
	info := server.Info(ctx)
	n.Send(ctx, info)
	answered := n.list.Clock.Now()
	return n.uptime.decide(info, dialled, asked, answered, answered-sent)
}
