package builtin

import (
	"context"
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
			for _, rule := range env.Without {
				t.unlimited = t.unlimited || rule == string(redlock.NodeTimeout)
			}
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
	attempts map[string]*attempt // by token
}

// attempt is one attempt to acquire the lock.
type attempt struct {
	turn      []chan struct{} // by node, closed at its turn
	asked     []bool          // by node
	sent      []bool          // by node: a SET was sent, so there may be a key to delete
	no        int
	abandoned bool // released
}

func (t *turns) decorate(servers []*server.Server, nodes []redlock.Node) error {
	for i, s := range servers {
		nodes[i] = &turn{Server: s, next: nodes[i], turns: t, nodes: len(nodes)}
	}
	return nil
}

// attempt returns the attempt with a token that has not reached the node yet: without FreshToken several share a token.
func (t *turns) attempt(token string, node, nodes int) *attempt {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.attempts[token]
	if a == nil || a.asked[node] {
		a = &attempt{turn: make([]chan struct{}, nodes+1), asked: make([]bool, nodes), sent: make([]bool, nodes)}
		for i := range a.turn {
			a.turn[i] = make(chan struct{})
		}
		close(a.turn[0])
		t.attempts[token] = a
	}
	a.asked[node] = true
	return a
}

// over reports whether the attempt sends to no further node.
func (t *turns) over(a *attempt) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	nodes := len(a.turn) - 1
	return a.abandoned || a.no > nodes-(nodes/2+1)
}

// end ends a node's turn.
func (t *turns) end(a *attempt, node int, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !yes {
		a.no++
	}
	close(a.turn[node+1])
}

// turn is a node that waits for its turn.
type turn struct {
	*server.Server
	next  redlock.Node
	turns *turns
	nodes int
}

func (n *turn) SetIfAbsent(ctx context.Context, c redlock.Claim) (absent bool, holder string, err error) {
	a := n.turns.attempt(c.Token, n.Index, n.nodes)
	<-a.turn[n.Index]
	defer func() { n.turns.end(a, n.Index, err == nil && (absent || holder == c.Token)) }()
	if n.turns.over(a) {
		return false, "", redlock.ErrNotSent
	}
	n.turns.mu.Lock()
	a.sent[n.Index] = true
	n.turns.mu.Unlock()
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
