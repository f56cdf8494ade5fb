package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Disconnect disconnects a node from its network.
const Disconnect = "disconnect"

// networked is a node that can be disconnected from its network.
type networked interface {
	cluster.Node
	// Disconnect disconnects the node: it keeps running, but is unreachable. Connect connects it again, perhaps at
	// another address.
	Disconnect(ctx context.Context) error
	Connect(ctx context.Context) error
	// Connected returns the number of its networks, and its address.
	Connected(ctx context.Context) (networks int, address string, err error)
}

var ownNetwork = cluster.NewAbility[networked]("nodes in a network of their own")

var _ = declare(&Declaration{
	Kind: Disconnect, Doc: "disconnects the node from its network: it keeps running, but is unreachable",
	Node:     &Effect{Class: history.NodeUnreachable, Needs: ownNetwork},
	Optional: []string{"for"},
	Words: Words{
		Noun:        "disconnection of",
		Instruction: instructionFor("disconnect %s from the network"), Begin: passiveText("disconnected from the network"),
		End: passiveText("connected again"), Past: "was disconnected",
	},
	apply: (*Nemesis).disconnect,
})

// disconnect disconnects a node from its network, and connects it again at the end. The proof is that it is in no
// network and does not answer, and that it is the same server afterwards.
func (n *Nemesis) disconnect(ctx context.Context, f Fault, target string) (*Active, error) {
	node, err := nodeAs[networked](n, target, ownNetwork)
	if err != nil {
		return nil, err
	}
	before, err := n.Inspect(ctx, target)
	if err != nil {
		return nil, err
	}
	_, address, err := node.Connected(ctx)
	if err != nil {
		return nil, err
	}
	if err := node.Disconnect(ctx); err != nil {
		return nil, err
	}
	networks, _, err := node.Connected(ctx)
	if err != nil {
		return nil, err
	}
	during, err := node.Look(ctx)
	if err != nil {
		return nil, err
	}
	a := &Active{Target: target, fault: f}
	a.end = func(ctx context.Context) (proof, error) {
		if err := node.Connect(ctx); err != nil {
			return proof{}, err
		}
		networks, now, err := node.Connected(ctx)
		if err != nil {
			return proof{}, err
		}
		after, err := node.Look(ctx)
		measured := map[string]string{
			"networks": strconv.Itoa(networks), "run id": after.RunID, "address": now, "address before": address,
		}
		return proof{measured: measured, effective: networks > 0 && after.Up && after.RunID == before.RunID}, err
	}
	measured := map[string]string{"networks": strconv.Itoa(networks), "run id": before.RunID}
	return n.begin(a, proof{measured: measured, effective: networks == 0 && !during.Up}), nil
}
