package nemesis

import (
	"context"

	"example.org/lockproof/harness/history"
)

// Block is another user's slow command, during which the node does not answer.
const Block = "block"

var _ = declare(&Declaration{
	Kind:     Block,
	Doc:      "another user's slow command (DEBUG SLEEP) occupies the node for that time: it answers nothing",
	Node:     &Effect{Class: history.NodePaused},
	Required: []string{"for"},
	Words: Words{
		Noun:        "slow command on",
		Instruction: instructionFor("block %s with a slow command (DEBUG SLEEP)"),
		Begin:       passiveText("blocked by another user's command, and answers nothing"),
		End:         occupyEndText, Past: "was blocked by a command",
	},
	apply: func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error) {
		return n.occupy(ctx, f, target, false)
	},
	endsWithProcess: "lasted",
})
