package nemesis

import (
	"context"
	"strconv"
)

// flush is an operator's FLUSHALL. The proof is that no key has outlived it: a
// key of that name may be there again, but then with another owner.
func (n *Nemesis) flush(ctx context.Context, f Fault, target string) error {
	node, err := n.node(target)
	if err != nil {
		return err
	}
	before, err := n.look(ctx, target)
	if err != nil {
		return err
	}
	if err := node.Flush(ctx); err != nil {
		return err
	}
	after, err := node.Look(ctx)
	if err != nil {
		return err
	}
	left := 0
	for key, state := range before.Keys {
		if now, there := after.Keys[key]; there && now.Token == state.Token {
			left++
		}
	}
	measured := map[string]string{"keys before": strconv.Itoa(len(before.Keys)), "keys left": strconv.Itoa(left)}
	n.instant(f, target, nil, proof{measured, after.Up && left == 0})
	n.saw(target, after)
	return nil
}
