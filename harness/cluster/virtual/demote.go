package virtual

import (
	"context"
	"fmt"
	"strings"
)

// replicaOf is an operator's REPLICAOF. Its master is always unreachable, so the node keeps its keys. The settings stay
// unchanged, as with Promote.
func (n *Node) replicaOf(ctx context.Context, words []string) (reply string, err error) {
	if strings.EqualFold(strings.Join(words, " "), "NO ONE") {
		err = n.Promote(ctx)
	} else {
		err = n.demote()
	}
	if err != nil {
		return "", err
	}
	return "+OK", nil
}

// demote makes the node a replica without a master, and disconnects its own replicas.
func (n *Node) demote() error {
	n.mu.Lock()
	alone := n.rep == nil
	n.mu.Unlock()
	if alone {
		n.replicate(nil, 0, 0)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.rep
	switch {
	case n.server == nil || n.suspended():
		return n.cannot("demote")
	case r.isReplica:
		return fmt.Errorf("demote %s: it is a replica already", n.name)
	}
	n.advance()
	r.isReplica, r.state, r.needsCopy = true, unlinked, false
	for _, a := range r.replicas {
		n.drop(a.conn)
	}
	r.replicas, r.good = nil, 0
	return nil
}
