package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Kill sends SIGKILL to a client or a node.
const Kill = "kill"

var _ = declare(&Declaration{
	Kind: Kill, Doc: "SIGKILL; only nodes can take `after`, clients stay dead",
	Node: &Effect{Class: history.NodeDown}, Client: &Effect{Class: history.ClientKilled},
	Optional: []string{"after", "each-message"},
	Check:    checkKillUse,
	Draw:     &Draw{Targets: Nodes, Required: []string{"for"}}, // clients do not come back
	EndedBy:  Start,
	Words: Words{
		Instruction: instructionFor("kill %s (SIGKILL)"), Begin: passiveText("killed (SIGKILL)"), Past: "was killed",
	},
	apply: (*Nemesis).kill, undo: (*Nemesis).restartNodes,
})

// checkKillUse refuses the restart of a client.
func checkKillUse(u Use) []Misuse {
	found := checkEachMessage(u)
	for _, client := range u.Clients {
		if u.Modifiers["after"] {
			found = append(found,
				Misuse{"after", client + " is a client: a killed client cannot be restarted", "remove `after`, or kill a node"})
		}
	}
	return found
}

func (n *Nemesis) kill(ctx context.Context, f Fault, target string) (*Active, error) {
	if n.clientNames[target] {
		return nil, n.killClient(f, target)
	}
	return nil, n.stop(ctx, f, target, cluster.Node.Kill)
}

func (n *Nemesis) killClient(f Fault, name string) error {
	if err := n.clients.Kill(name); err != nil {
		return err
	}
	n.endWithProcess(name, f.Kind)
	n.recordInstant(f, name, history.Asked{}, proof{measured: map[string]string{"state": "gone"}, effective: true})
	return nil
}
