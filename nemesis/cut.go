package nemesis

import (
	"cmp"
	"context"
	"strconv"

	"example.org/lockproof/harness/history"
)

// Cut stops all messages between a client and a node.
const Cut = "cut"

var _ = declare(&Declaration{
	Kind: Cut, Doc: "holds all traffic on the link until it is healed",
	Link:     &Effect{Class: history.LinkCut},
	Optional: []string{"direction", "for"},
	Draw:     &Draw{Required: []string{"for"}, Optional: []string{"direction"}},
	EndedBy:  Heal,
	Words: Words{
		Instruction: instructionFor("cut %s"),
		Begin:       func(f history.Fault) string { return linkList(f) + " " + isOrAre(f) + " cut" },
		End:         func(f history.Fault) string { return "the cut of " + linkList(f) + " is healed" },
		Past:        "was cut",
		Background: func(client, nodes string, _ history.Fault) string {
			return client + " cannot reach " + nodes
		},
	},
	apply: (*Nemesis).cut,
})

// cut stops a link's messages. The proof is that no message passed before the heal.
func (n *Nemesis) cut(_ context.Context, f Fault, target string) (*Active, error) {
	l, err := n.link(target)
	if err != nil {
		return nil, err
	}
	d := cmp.Or(f.Direction, history.Both)
	if err := l.Cut(d); err != nil {
		return nil, err
	}
	passed, sent := l.Measure(d), l.Measure(history.ToNode)
	end := func(context.Context) (proof, error) {
		p := passed()
		if err := l.Heal(d); err != nil {
			return proof{}, err
		}
		held := p.SetOut - p.Messages
		measured := map[string]string{"messages passed": strconv.Itoa(p.Messages), "messages held": strconv.Itoa(held)}
		return proof{measured: measured, effective: p.Messages == 0, affected: &held, sentAt: n.sendTimes(sent().First)}, nil
	}
	a := &Active{Target: target, fault: f, asked: history.Asked{Direction: d}, end: end}
	return n.begin(a, proof{effective: true}), nil
}
