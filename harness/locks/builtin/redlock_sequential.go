package builtin

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.org/lockproof/harness/locks"
	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/server"
)

func init() {
	locks.Register(locks.Kind{
		Name: "redlock-sequential",
		Doc:  "the reference, asking one node after the other instead of all at once",
		New: func(env locks.Env) (locks.Lock, error) {
			t := &turns{timeout: env.NodeTimeout, attempts: map[string]*attempt{}}
			t.changed.L = &t.mu
			t.unlimited = slices.Contains(env.Without, string(redlock.NodeTimeout))
			env.NodeTimeout *= time.Duration(len(env.Nodes)) // of all of them together
			return newReference(env, 0, t.decorate)
		},
		Abilities: locks.Abilities{OwnClock: true, Extends: true}, Rules: true, Majority: true,
	})
}

// turns makes a lock send to its nodes one after the other, each with the node timeout, as in step 2 of redis.io's
// page. After an attempt has failed or been released it sends to no further node: a key there would only block other
// clients.
type turns struct {
	timeout   time.Duration
	unlimited bool

	mu       sync.Mutex
	changed  sync.Cond           // an attempt is at its next node
	attempts map[string]*attempt // by token
}

// attempt is one attempt to acquire the lock.
type attempt struct {
	asked     []bool // by node
	sent      []bool // by node: a SET was sent, so there may be a key to delete
	next      int    // the node whose turn it is
	no        int    // refusals
	abandoned bool   // released
}

func (t *turns) decorate(servers []*server.Server, nodes []redlock.Node) error {
	for i, s := range servers {
		nodes[i] = &turn{Server: s, next: nodes[i], turns: t, nodes: len(nodes)}
	}
	return nil
}

// begin waits for a node's turn in an attempt, and reports whether the node is sent a SET. It is the attempt with that
// token that has not reached the node yet: without FreshToken several share a token.
func (t *turns) begin(token string, node, nodes int) (a *attempt, send bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a = t.attempts[token]
	if a == nil || a.asked[node] {
		a = &attempt{asked: make([]bool, nodes), sent: make([]bool, nodes)}
		t.attempts[token] = a
	}
	a.asked[node] = true
	for a.next != node {
		t.changed.Wait()
	}
	a.sent[node] = !a.abandoned && a.no <= nodes-(nodes/2+1)
	return a, a.sent[node]
}

// end ends a node's turn.
func (t *turns) end(a *attempt, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !yes {
		a.no++
	}
	a.next++
	t.changed.Broadcast()
}

// turn is a node that waits for its turn.
type turn struct {
	*server.Server
	next  redlock.Node
	turns *turns
	nodes int
}

func (n *turn) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	a, send := n.turns.begin(c.Token, n.Index, n.nodes)
	defer func() { n.turns.end(a, err == nil && (absent || holder == c.Token)) }()
	if !send {
		return false, "", redlock.ErrNotSent
	}
	if !n.turns.unlimited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, n.turns.timeout)
		defer cancel()
	}
	return n.next.SetIfAbsent(ctx, c)
}

func (n *turn) DeleteIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	n.turns.mu.Lock()
	a := n.turns.attempts[c.Token]
	unsent := a != nil && !a.sent[n.Index]
	if a != nil {
		a.abandoned = true
	}
	n.turns.mu.Unlock()
	if unsent { // and it never will be
		return false, nil
	}
	return n.next.DeleteIfEqual(ctx, c)
}

func (n *turn) ExpireIfEqual(ctx context.Context, c redlock.Claim) (bool, error) {
	return n.next.ExpireIfEqual(ctx, c)
}
