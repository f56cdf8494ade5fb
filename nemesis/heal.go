package nemesis

import "example.org/lockproof/harness/history"

// Heal ends what keeps a link from carrying all in its time.
const Heal = "heal"

var _ = declare(&Declaration{
	Kind: Heal, Doc: "ends a cut in both directions",
	Link: &Effect{Class: history.LinkHealed},
	Words: Words{
		Instruction: instructionFor("heal %s"),
		Begin:       func(f history.Fault) string { return linkList(f) + " " + isOrAre(f) + " healed" },
	},
	apply: (*Nemesis).endMatching,
})
