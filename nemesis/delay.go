package nemesis

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// Delay delays the messages between a client and a node.
const Delay = "delay"

var _ = declare(&Declaration{
	Kind: Delay, Doc: "adds a one-way delay; 0 removes it",
	Link:     &Effect{Class: history.LinkSlow},
	Required: []string{"by"}, Optional: []string{"direction", "for"},
	Draw:    &Draw{Required: []string{"for", "by"}, Optional: []string{"direction"}},
	Knobs:   []Knob{{Modifier: "by", Label: "Delay", Min: 0, Max: 2}},
	EndedBy: Heal,
	Words: Words{
		Instruction: func(o Instruction) string {
			if o.Delay == "" {
				return "remove the delay of " + o.Targets
			}
			return fmt.Sprintf("delay %s by %s one way", o.Targets, o.Delay)
		},
		Begin: func(f history.Fault) string {
			return linkList(f) + " " + isOrAre(f) + " delayed" + wording.Prefix(" by ", readable(f.Asked.By))
		},
		End:  func(f history.Fault) string { return "the delay of " + linkList(f) + " ends" },
		Past: "was delayed",
		Background: func(client, nodes string, f history.Fault) string {
			return fmt.Sprintf("%s is %s away from %s", client, readable(f.Asked.By), nodes)
		},
	},
	apply: (*Nemesis).delay,
})

// delaySlack is how much too early a delayed message may pass: toxiproxy counts delays in whole milliseconds.
const delaySlack = time.Millisecond

// delay delays a link's messages. The proof is the duration of the fastest message.
func (n *Nemesis) delay(_ context.Context, f Fault, target string) (*Active, error) {
	l, err := n.link(target)
	if err != nil {
		return nil, err
	}
	d := cmp.Or(f.Direction, history.Both)
	if err := l.Delay(d, f.Delay); err != nil {
		return nil, err
	}
	passed := l.Measure(d)
	end := func(context.Context) (proof, error) {
		p := passed()
		if err := l.Delay(d, -f.Delay); err != nil {
			return proof{}, err
		}
		measured := map[string]string{"messages": strconv.Itoa(p.Messages), "shortest": p.Shortest.String()}
		return proof{measured: measured, effective: p.Messages == 0 || p.Shortest >= f.Delay-delaySlack,
			affected: &p.SetOut}, nil
	}
	a := &Active{Target: target, fault: f, end: end,
		asked: history.Asked{By: history.Duration(f.Delay), Direction: d}}
	return n.begin(a, proof{effective: true}), nil
}
