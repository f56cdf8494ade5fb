package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Drop drops single commands or replies and closes the connection.
const Drop = "drop"

var _ = declare(&Declaration{
	Kind: Drop, Doc: "drops the next such command, or its reply, and closes the connection",
	Link:     &Effect{Class: history.MessageLost},
	Required: []string{"of", "part"}, Optional: []string{"for", "times"},
	EndedBy: LetGo,
	Words: Words{
		Noun:        "dropped messages on",
		Instruction: func(o Instruction) string { return interceptInstruction("drop")(o) + " and close the connection" },
		Begin:       interceptBegin("dropped, and the connection closed"),
		End:         func(f history.Fault) string { return "on " + linkList(f) + " messages pass again" },
		Past:        "lost a message and the connection",
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.intercept(f, target, cluster.Drop)
	},
})
