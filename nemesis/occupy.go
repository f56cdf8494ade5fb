package nemesis

import (
	"context"
	"errors"
	"fmt"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// occupy lets another user's script run on a node, which answers BUSY meanwhile, or
// nothing. The proof is that it does, and answers something else after the end.
func (n *Nemesis) occupy(ctx context.Context, f Fault, target string, answers bool) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	if n.isOccupied(target) {
		return nil, errors.New("already occupied")
	}
	sent := n.countSent(target)
	end, err := node.Occupy(ctx, f.Duration, answers)
	if err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f, asked: history.Asked{Lasts: history.Duration(f.Duration)}}
	a.end = func(ctx context.Context) (proof, error) {
		met := sent()
		err := end(ctx)
		measured := map[string]string{"lasted": n.lasted(a).String()}
		return proof{measured: measured, effective: err == nil, affected: met}, err
	}
	answer := "nothing"
	if answers {
		answer = "BUSY"
	}
	return n.begin(a, proof{measured: map[string]string{"answer": answer}, effective: true}), nil
}

// isOccupied reports whether a node answers no look, for what another user has it do.
func (n *Nemesis) isOccupied(target string) bool { return len(n.activeOn(target, Busy, Block)) > 0 }

// occupyEndText says that what kept the node has ended, and how long it did.
func occupyEndText(f history.Fault) string {
	return fmt.Sprintf("what occupied %s is over", targetList(f)) +
		wording.Prefix(", after ", wording.Readable(f.Measured["lasted"]))
}
