package nemesis

import (
	"lockproof/harness/history"
)

// Heal ends what keeps a link from carrying all in its time.
const Heal = "heal"

var _ = declare(&Declaration{
	Kind: Heal, Doc: "ends a cut in both directions",
	Link: &Effect{Class: history.LinkHealed},
	Words: Words{
		ToDo:  order("heal %s"),
		Begun: func(f history.Fault) string { return links(f) + " " + is(f) + " healed" },
	},
	apply: (*Nemesis).endKinds,
})
