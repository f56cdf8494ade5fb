package nemesis

import "example.org/lockproof/harness/history"

// LetGo ends all intercepts of a link.
const LetGo = "let-go"

var _ = declare(&Declaration{
	Kind: LetGo, Doc: "delivers held messages, and ends every hold, lose and drop on the link",
	Link: &Effect{Class: history.LetGo},
	Words: Words{
		Instruction: instructionFor("deliver held messages on %s"),
		Begin:       func(f history.Fault) string { return "held messages on " + linkList(f) + " are delivered" },
	},
	apply: (*Nemesis).endMatching,
})
