package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// occupy lets another user's script run on a node, which answers BUSY meanwhile, or
// nothing.
func (n *Nemesis) occupy(ctx context.Context, f Fault, target string, answers bool) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	scripted, ok := node.(cluster.Scripted)
	if !ok {
		return nil, fmt.Errorf("the nodes of the %s cluster run no scripts of others", n.cluster.Kind())
	}
	if n.occupied(target) {
		return nil, errors.New("it is occupied already")
	}
	sent := n.sentTo(target)
	end, err := scripted.Occupy(ctx, f.Lasts, answers)
	if err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f, asked: map[string]string{"lasts": f.Lasts.String()}}
	a.end = func(ctx context.Context) (proof, error) {
		met := sent()
		err := end(ctx)
		measured := map[string]string{"lasted": time.Duration(n.cluster.Now() - a.began).String()}
		return proof{measured: measured, effective: err == nil, met: met}, err
	}
	answer := "nothing"
	if answers {
		answer = "BUSY"
	}
	return n.begin(a, proof{measured: map[string]string{"answer": answer}, effective: true}), nil
}

// occupied reports whether a node answers no look, for what another user has it do.
func (n *Nemesis) occupied(target string) bool { return len(n.on(target, Busy, Block)) > 0 }

// scriptOver says that what kept the node has ended, and how long it did.
func scriptOver(f history.Fault) string {
	return fmt.Sprintf("what occupied %s is over", who(f)) + wording.Behind(", after ", wording.Readable(f.Measured["lasted"]))
}
