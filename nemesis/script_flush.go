package nemesis

import (
	"context"

	"example.org/lockproof/harness/history"
)

// ScriptFlush is an operator's SCRIPT FLUSH.
const ScriptFlush = "script-flush"

var _ = declare(&Declaration{
	Kind: ScriptFlush, Doc: "an operator's SCRIPT FLUSH: EVALSHA is answered NOSCRIPT until the script is sent again",
	Node: &Effect{Class: history.NodeScripts},
	Draw: &Draw{},
	Words: Words{
		Noun:        "script flush of",
		Instruction: instructionFor("make %s forget every script (SCRIPT FLUSH)"),
		Begin:       func(f history.Fault) string { return targetList(f) + " forget" + verbEnding(f) + " every script" },
		Past:        "forgot every script",
	},
	apply: (*Nemesis).scriptFlush,
})

// The nemesis loads this script before the flush.
const (
	probeScript = "EVAL return{} 0"
	probeDigest = "EVALSHA 8f0732537dcef5e06b4e8371446724937f2bc51f 0"
)

// scriptFlush removes a node's scripts. The proof is a script that the node knew before and not after.
func (n *Nemesis) scriptFlush(ctx context.Context, f Fault, target string) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	var replies []string
	for _, line := range []string{probeScript, probeDigest, "SCRIPT FLUSH", probeDigest} {
		reply, err := node.Command(ctx, line)
		if err != nil {
			return nil, err
		}
		replies = append(replies, reply)
	}
	before, after := replies[1], replies[3]
	measured := map[string]string{"known before": before, "after": after}
	n.recordInstant(f, target, history.Asked{}, proof{measured: measured, effective: before == "*0" && after != before})
	return nil, nil
}
