package nemesis

import "example.org/lockproof/harness/history"

// Heal ends cuts and delays of a link.
const Heal = "heal"

var _ = declare(&Declaration{
	Kind: Heal, Doc: "ends every cut and delay of the link",
	Link: &Effect{Class: history.LinkHealed},
	Words: Words{
		Instruction: instructionFor("heal %s"),
		Begin:       func(f history.Fault) string { return linkList(f) + " " + isOrAre(f) + " healed" },
	},
	apply: (*Nemesis).endMatching,
})
