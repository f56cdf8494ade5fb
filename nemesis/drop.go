package nemesis

import (
	"context"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Drop swallows single commands or replies and closes the connection.
const Drop = "drop"

var _ = declare(&Declaration{
	Kind: Drop, Doc: "swallows it and closes the connection",
	Link:     &Effect{Class: history.MessageLost},
	Required: []string{"of", "part"}, Optional: []string{"for", "times"},
	EndedBy: LetGo,
	Met:     "messages dropped",
	Words: Words{
		ToDo:  func(o Order) string { return orderIntercept("drop")(o) + " and close the connection" },
		Begun: intercepted("dropped, and the connection closed"),
		Over:  func(f history.Fault) string { return "on " + links(f) + " messages pass again" },
		Was:   "was dropped",
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.intercept(f, target, cluster.Drop)
	},
})
