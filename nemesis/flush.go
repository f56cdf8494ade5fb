package nemesis

import (
	"context"
	"strconv"
)

// flush is an operator's FLUSHALL. The proof is that the node has no keys left.
func (n *Nemesis) flush(ctx context.Context, f Fault, target string) error {
	before, err := n.look(ctx, target)
	if err != nil {
		return err
	}
	if err := n.cluster.Node(target).Flush(ctx); err != nil {
		return err
	}
	after, err := n.cluster.Node(target).Look(ctx)
	if err != nil {
		return err
	}
	measured := map[string]string{"keys before": strconv.Itoa(len(before.Keys)), "keys after": strconv.Itoa(len(after.Keys))}
	n.instant(f, target, nil, proof{measured, after.Up && len(after.Keys) == 0})
	n.saw(target, after)
	return nil
}
