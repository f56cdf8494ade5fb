package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Lose loses single commands or replies.
const Lose = "lose"

var _ = declare(&Declaration{
	Kind: Lose, Doc: "loses the next such command, or its reply, and everything behind it on its connection",
	Link:     &Effect{Class: history.MessageLost},
	Required: []string{"of", "part"}, Optional: []string{"for", "times"},
	EndedBy: LetGo,
	Words: Words{
		Noun:        "lost messages on",
		Instruction: interceptInstruction("lose"),
		Begin:       interceptBegin("lost"),
		End:         func(f history.Fault) string { return "on " + linkList(f) + " messages pass again" },
		Past:        "lost a message",
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.intercept(f, target, cluster.Lose)
	},
})
