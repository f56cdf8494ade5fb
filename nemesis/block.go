package nemesis

import (
	"context"

	"example.org/lockproof/harness/history"
)

// Block is another user's slow command, during which the node does not answer.
const Block = "block"

var _ = declare(&Declaration{
	Kind:        Block,
	Doc:         "another user's command takes so long, as a script may (DEBUG SLEEP), and it answers nothing meanwhile",
	Node:        &Effect{Class: history.NodePaused},
	Required:    []string{"for"},
	AffectedDoc: "messages that clients sent to the node meanwhile",
	Words: Words{
		Instruction: instructionFor("block %s by a command that takes long (DEBUG SLEEP)"),
		Begin:       passiveText("blocked by another user's command, and answers nothing"),
		End:         occupyEndText, Past: "was blocked by a command",
	},
	apply: func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error) {
		return n.occupy(ctx, f, target, false)
	},
	endsWithProcess: "lasted",
})
