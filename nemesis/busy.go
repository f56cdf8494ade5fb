package nemesis

import (
	"context"

	"example.org/lockproof/harness/history"
)

// Busy is another user's long-running script, during which the node answers BUSY.
const Busy = "busy"

var _ = declare(&Declaration{
	Kind: Busy,
	Doc: "another user's script runs longer than `busy-reply-threshold`: the node answers BUSY to everything " +
		"except SCRIPT KILL",
	Node:     &Effect{Class: history.NodePaused},
	Required: []string{"for"},
	Words: Words{
		Noun:        "long script on",
		Instruction: instructionFor("let a script keep %s busy (BUSY)"),
		Begin:       passiveText("busy with another user's script, and answers BUSY"),
		End:         occupyEndText, Past: "was busy with a script",
	},
	apply: func(n *Nemesis, ctx context.Context, f Fault, target string) (*Active, error) {
		return n.occupy(ctx, f, target, true)
	},
	endsWithProcess: "lasted",
})
