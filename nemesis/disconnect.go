package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Disconnect takes a node out of its network.
const Disconnect = "disconnect"

// networked is a node in a network that it can be taken out of.
type networked interface {
	cluster.Node
	// Disconnect takes the node out of its network: it runs on, and nobody
	// reaches it. Connect puts it back, where it need not have the address that
	// it had.
	Disconnect(ctx context.Context) error
	Connect(ctx context.Context) error
	// Connected says in how many networks it is, and at which address.
	Connected(ctx context.Context) (networks int, address string, err error)
}

var ownNetwork = cluster.NewAbility[networked]("nodes in a network of their own")

var _ = declare(&Declaration{
	Kind: Disconnect, Doc: "takes the node out of its network: it runs on, and nobody reaches it",
	Node:        &Effect{Class: history.NodeUnreachable, Needs: ownNetwork},
	Optional:    []string{"for"},
	AffectedDoc: "not counted: the checker looks for a key that was there, or a client that asked meanwhile",
	Words: Words{
		Instruction: instructionFor("take %s out of its network"),
		Begin: func(f history.Fault) string {
			them := "it"
			if len(f.Targets) != 1 {
				them = "them"
			}
			return targetList(f) + " " + isOrAre(f) + " taken out of the network: nobody reaches " + them
		},
		End:  targetText("%s can be reached again"),
		Past: "was disconnected",
	},
	apply: (*Nemesis).disconnect,
})

// disconnect takes a node out of its network, and puts it back at the end. The
// proof is that it is in no network and does not answer, and that it is the same
// server afterwards.
func (n *Nemesis) disconnect(ctx context.Context, f Fault, target string) (*Active, error) {
	node, err := nodeAs[networked](n, target, ownNetwork)
	if err != nil {
		return nil, err
	}
	before, err := n.inspect(ctx, target)
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
