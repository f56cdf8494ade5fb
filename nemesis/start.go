package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Start restarts a node that is down.
const Start = "start"

var _ = declare(&Declaration{
	Kind: Start, Doc: "restarts a node that is down",
	Node: &Effect{Class: history.NodeUp},
	Words: Words{
		Instruction: instructionFor("start %s again"),
		Begin: func(f history.Fault) string {
			return targetList(f) + " " + isOrAre(f) + " started again" + wording.Prefix(" by ", f.Measured["by"]) +
				keysText(f.Measured["keys"])
		},
	},
	apply: (*Nemesis).start,
})

func (n *Nemesis) start(ctx context.Context, f Fault, target string) (*Active, error) {
	_, err := n.stopOrStart(ctx, f, target, func(node cluster.Node, _ map[string]string) error { return node.Start(ctx) })
	return nil, err
}
