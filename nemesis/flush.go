package nemesis

import (
	"context"
	"strconv"

	"lockproof/harness/history"
)

// Flush is an operator's FLUSHALL.
const Flush = "flush"

var _ = declare(&Declaration{
	Kind: Flush, Doc: "an operator's FLUSHALL",
	Node: &Effect{Class: history.NodeForgets},
	Draw: &Draw{},
	Met:  "keys that were there and went",
	Words: Words{
		ToDo: order("flush %s (FLUSHALL)"), Begun: becomes("flushed: every key is gone"), Was: "was flushed",
	},
	apply: (*Nemesis).flush,
})

// flush is an operator's FLUSHALL. The proof is that no key has outlived it: a
// key of that name may be there again, but then with another owner.
func (n *Nemesis) flush(ctx context.Context, f Fault, target string) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	before, err := n.look(ctx, target)
	if err != nil {
		return nil, err
	}
	if err := node.Flush(ctx); err != nil {
		return nil, err
	}
	after, err := node.Look(ctx)
	if err != nil {
		return nil, err
	}
	left := 0
	for key, state := range before.Keys {
		if now, there := after.Keys[key]; there && now.Token == state.Token {
			left++
		}
	}
	measured := map[string]string{"keys before": strconv.Itoa(len(before.Keys)), "keys left": strconv.Itoa(left)}
	gone := len(before.Keys) - left
	n.instant(f, target, nil, proof{measured: measured, effective: after.Up && left == 0, met: &gone})
	n.saw(target, after)
	return nil, nil
}
