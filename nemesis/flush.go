package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Flush is an operator's FLUSHALL.
const Flush = "flush"

var _ = declare(&Declaration{
	Kind: Flush, Doc: "an operator's FLUSHALL",
	Node: &Effect{Class: history.NodeForgets},
	Draw: &Draw{},
	Words: Words{
		Instruction: instructionFor("flush %s (FLUSHALL)"), Begin: passiveText("flushed: every key is gone"),
		Past: "was flushed",
	},
	apply: (*Nemesis).flush,
})

// flush sends an operator's FLUSHALL. The proof is that no key survived it: a key may exist again, but then with
// another token.
func (n *Nemesis) flush(ctx context.Context, f Fault, target string) (*Active, error) {
	before, after, gone, err := n.keysGone(ctx, target, func(node cluster.Node) error { return node.Flush(ctx) })
	if err != nil {
		return nil, err
	}
	went, left := len(gone), len(before.Keys)-len(gone)
	measured := map[string]string{"keys before": strconv.Itoa(len(before.Keys)), "keys left": strconv.Itoa(left)}
	n.recordInstant(f, target, history.Asked{}, proof{measured: measured, effective: after.Up && left == 0,
		affected: &went})
	n.RecordNode(target, after)
	return nil, nil
}

// keysGone looks into a node before and after an operator's act, and lists the keys that have lost their token.
func (n *Nemesis) keysGone(ctx context.Context, target string,
	act func(cluster.Node) error) (before, after history.Node, gone []string,
	err error) {
	node, err := n.node(target)
	if err != nil {
		return before, after, nil, err
	}
	if before, err = n.Inspect(ctx, target); err != nil {
		return before, after, nil, err
	}
	if err = act(node); err != nil {
		return before, after, nil, err
	}
	if after, err = node.Look(ctx); err != nil {
		return before, after, nil, err
	}
	for key, state := range before.Keys {
		if now, there := after.Keys[key]; !there || now.Token != state.Token {
			gone = append(gone, key)
		}
	}
	return before, after, gone, nil
}
