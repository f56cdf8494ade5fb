package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Shutdown sends the command SHUTDOWN.
const Shutdown = "shutdown"

var _ = declare(&Declaration{
	Kind: Shutdown, Doc: "a clean SHUTDOWN",
	Node:     &Effect{Class: history.NodeDown},
	Optional: []string{"after"},
	Draw:     &Draw{Required: []string{"for"}},
	EndedBy:  Start,
	Words: Words{
		Instruction: instructionFor("shut %s down cleanly (SHUTDOWN)"), Begin: passiveText("shut down cleanly"),
		Past: "was shut down",
	},
	apply: func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error) {
		return nil, n.stop(ctx, f, target, cluster.Node.Shutdown)
	},
	undo: (*Nemesis).restartNodes,
})
