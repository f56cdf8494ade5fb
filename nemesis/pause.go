package nemesis

import (
	"context"
	"time"
)

// pause stops a client or a node where it stands.
func (n *Nemesis) pause(ctx context.Context, f Fault, target string) (*Active, error) {
	stop, carryOn := n.standstill(target)
	if err := stop(ctx); err != nil {
		return nil, err
	}
	began := n.cluster.Now()
	end := func(ctx context.Context) (proof, error) {
		stopped := time.Duration(n.cluster.Now() - began)
		if err := carryOn(ctx); err != nil {
			return proof{}, err
		}
		return proof{map[string]string{"stopped for": stopped.String()}, true}, nil
	}
	a := &Active{Target: target, fault: f, end: end}
	return n.begin(a, proof{map[string]string{"state": "stopped"}, true}), nil
}

// standstill is how a client or a node is stopped and carried on.
func (n *Nemesis) standstill(target string) (stop, carryOn func(context.Context) error) {
	if !n.names[target] {
		node := n.cluster.Node(target)
		return node.Pause, node.Resume
	}
	return func(context.Context) error { return n.clients.Pause(target) },
		func(context.Context) error { return n.clients.Resume(target) }
}
