package nemesis

import (
	"context"

	"lockproof/harness/history"
)

// Block is another user's command during which the node answers nothing.
const Block = "block"

var _ = declare(&Declaration{
	Kind: Block, Doc: "another user's command takes so long, as a script may (DEBUG SLEEP), and it answers nothing meanwhile",
	Node:     &Effect{Class: history.NodePaused},
	Required: []string{"for"},
	Met:      "messages that clients sent to the node meanwhile",
	Words: Words{
		ToDo:  order("block %s by a command that takes long (DEBUG SLEEP)"),
		Begun: becomes("blocked by another user's command, and answers nothing"),
		Over:  scriptOver, Was: "was blocked by a command",
	},
	apply: (*Nemesis).block, dies: "lasted",
})

// block lets a node sleep amid a command. The proof is that it answers nothing, and
// something after the command's end.
func (n *Nemesis) block(ctx context.Context, f Fault, target string) (*Active, error) {
	return n.occupy(ctx, f, target, false)
}
