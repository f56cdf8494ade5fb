package nemesis

import (
	"context"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// Start brings a node back that is down.
const Start = "start"

var _ = declare(&Declaration{
	Kind: Start, Doc: "brings a node that is down back",
	Node: &Effect{Class: history.NodeUp},
	Words: Words{
		ToDo: order("start %s again"),
		Begun: func(f history.Fault) string {
			return who(f) + " " + is(f) + " started again" + wording.Behind(" by ", f.Measured["by"]) + keysFound(f.Measured["keys"])
		},
	},
	apply: (*Nemesis).start,
})

func (n *Nemesis) start(ctx context.Context, f Fault, target string) (*Active, error) {
	_, err := n.life(ctx, f, target, func(node cluster.Node, _ map[string]string) error { return node.Start(ctx) })
	return nil, err
}
