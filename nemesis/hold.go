package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Hold holds single commands or replies until LetGo.
const Hold = "hold"

var _ = declare(&Declaration{
	Kind: Hold, Doc: "holds the next such command, or its reply, and everything behind it on its connection",
	Link:     &Effect{Class: history.MessageHeld},
	Required: []string{"of", "part"}, Optional: []string{"for", "times"},
	EndedBy: LetGo,
	Words: Words{
		Noun:        "held messages on",
		Instruction: interceptInstruction("hold"),
		Begin:       interceptBegin("held back"),
		End:         func(f history.Fault) string { return "held messages on " + linkList(f) + " are delivered" },
		Past:        "had messages held back",
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.intercept(f, target, cluster.Hold)
	},
})
