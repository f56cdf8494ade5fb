package nemesis

import "example.org/lockproof/harness/history"

// LetGo ends all intercepts of a link.
const LetGo = "let-go"

var _ = declare(&Declaration{
	Kind: LetGo, Doc: "passes on what is held, and ends every hold, lose and drop on the link",
	Link: &Effect{Class: history.LetGo},
	Words: Words{
		Instruction: instructionFor("deliver what is held on %s"),
		Begin:       func(f history.Fault) string { return "what is held on " + linkList(f) + " is delivered" },
	},
	apply: (*Nemesis).endMatching,
})
