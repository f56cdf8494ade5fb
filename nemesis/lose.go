package nemesis

import (
	"context"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Lose swallows single commands or replies.
const Lose = "lose"

var _ = declare(&Declaration{
	Kind: Lose, Doc: "swallows it and all behind it on its connection",
	Link:     &Effect{Class: history.MessageLost},
	Required: []string{"of", "part"}, Optional: []string{"for", "times"},
	EndedBy: LetGo,
	Met:     "messages lost",
	Words: Words{
		ToDo:  orderIntercept("lose"),
		Begun: intercepted("lost"),
		Over:  func(f history.Fault) string { return "on " + links(f) + " messages pass again" },
		Was:   "lost a message",
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.intercept(f, target, cluster.Lose)
	},
})
