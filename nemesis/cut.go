package nemesis

import (
	"context"
	"strconv"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Cut parts a client from a node.
const Cut = "cut"

var _ = declare(&Declaration{
	Kind: Cut, Doc: "holds all traffic on the link until it is healed",
	Link:     &Effect{Class: history.LinkCut},
	Optional: []string{"direction", "for"},
	Draw:     &Draw{Required: []string{"for"}, Optional: []string{"direction"}},
	EndedBy:  Heal,
	Met:      "messages that set out and did not arrive",
	Words: Words{
		ToDo:  order("cut %s"),
		Begun: func(f history.Fault) string { return links(f) + " " + is(f) + " cut" },
		Over:  func(f history.Fault) string { return "the cut of " + links(f) + " is healed" },
		Was:   "was cut",
		Setting: func(client, nodes string, _ history.Fault) string {
			return client + " cannot reach " + nodes
		},
	},
	apply: (*Nemesis).cut,
})

// cut parts a client from a node. The proof is that nothing passed until it was
// healed.
func (n *Nemesis) cut(_ context.Context, f Fault, target string) (*Active, error) {
	l, err := n.link(target)
	if err != nil {
		return nil, err
	}
	d := f.Direction
	if d == "" {
		d = cluster.Both
	}
	if err := l.Cut(d); err != nil {
		return nil, err
	}
	passed, sent := measure(l, d), l.Measure(cluster.ToNode)
	end := func(context.Context) (proof, error) {
		p := passed()
		if err := l.Heal(d); err != nil {
			return proof{}, err
		}
		held := p.SetOut - p.Messages
		measured := map[string]string{"messages passed": strconv.Itoa(p.Messages), "messages held": strconv.Itoa(held)}
		return proof{measured: measured, effective: p.Messages == 0, met: &held, sentAt: n.whenSent(sent().First)}, nil
	}
	a := &Active{Target: target, fault: f, asked: map[string]string{"direction": string(d)}, end: end}
	return n.begin(a, proof{effective: true}), nil
}
