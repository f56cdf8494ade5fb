package nemesis

import (
	"context"
	"errors"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// occupy runs another user's script on a node, which then answers BUSY or nothing. The cluster checks this answer, and
// that the end succeeds.
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
		affected := sent()
		err := end(ctx)
		measured := map[string]string{"lasted": n.lasted(a).String()}
		return proof{measured: measured, effective: err == nil, affected: affected}, err
	}
	answer := "nothing"
	if answers {
		answer = "BUSY"
	}
	return n.begin(a, proof{measured: map[string]string{"answer": answer}, effective: true}), nil
}

// isOccupied reports whether another user's command keeps a node from answering looks.
func (n *Nemesis) isOccupied(target string) bool { return len(n.activeOn(target, Busy, Block)) > 0 }

func occupyEndText(f history.Fault) string {
	return targetList(f) + " " + isOrAre(f) + " no longer occupied" +
		wording.Prefix(", after ", wording.Readable(f.Measured["lasted"]))
}
