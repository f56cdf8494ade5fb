package nemesis

import (
	"context"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Hold keeps single commands or replies until they are let go.
const Hold = "hold"

var _ = declare(&Declaration{
	Kind: Hold, Doc: "keeps the next such command, or its reply, and all behind it on its connection",
	Link:     &Effect{Class: history.MessageHeld},
	Required: []string{"of", "part"}, Optional: []string{"for", "times"},
	EndedBy: LetGo,
	Met:     "messages held",
	Words: Words{
		ToDo:  orderIntercept("hold"),
		Begun: intercepted("held back"),
		Over:  func(f history.Fault) string { return "what was held on " + links(f) + " is delivered" },
		Was:   "was held",
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.intercept(f, target, cluster.Hold)
	},
})
