package nemesis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// Delay puts a node further from a client.
const Delay = "delay"

var _ = declare(&Declaration{
	Kind: Delay, Doc: "adds a one-way delay; 0 removes it",
	Link:     &Effect{Class: history.LinkSlow},
	Required: []string{"by"}, Optional: []string{"direction", "for"},
	Draw:    &Draw{Required: []string{"for", "by"}, Optional: []string{"direction"}},
	Knobs:   []Knob{{Modifier: "by", Label: "Delay", Least: 0, Most: 2}},
	EndedBy: Heal,
	Met:     "messages that set out on the longer way",
	Words: Words{
		ToDo: func(o Order) string {
			if o.By == "" {
				return "take the delay off " + o.Who
			}
			return fmt.Sprintf("delay %s by %s one way", o.Who, o.By)
		},
		Begun: func(f history.Fault) string {
			return links(f) + " " + is(f) + " delayed" + wording.Behind(" by ", wording.Readable(f.Asked["by"]))
		},
		Over: func(f history.Fault) string { return links(f) + " lose the delay" },
		Was:  "was delayed",
		Setting: func(client, nodes string, f history.Fault) string {
			return fmt.Sprintf("%s is %s away from %s", client, wording.Readable(f.Asked["by"]), nodes)
		},
	},
	apply: (*Nemesis).delay,
})

// delaySlack is how much earlier than asked a delayed message may be seen to
// pass: toxiproxy counts delays in whole milliseconds.
const delaySlack = time.Millisecond

// way is one direction of a link.
type way struct {
	link      string
	direction cluster.Direction
}

// further adds to the delay of a link, or takes from it. A link has one delay,
// and faults may overlap: theirs add up.
func (n *Nemesis) further(l cluster.Link, target string, d cluster.Direction, by time.Duration) error {
	n.delaying.Lock()
	defer n.delaying.Unlock()
	for _, single := range directions(d) {
		w := way{target, single}
		if err := l.Delay(single, n.distances[w]+by); err != nil {
			return err
		}
		n.distances[w] += by
	}
	return nil
}

// delay puts a node further from a client. The proof is how long the fastest
// message took.
func (n *Nemesis) delay(_ context.Context, f Fault, target string) (*Active, error) {
	l, err := n.link(target)
	if err != nil {
		return nil, err
	}
	d := f.Direction
	if d == "" {
		d = cluster.Both
	}
	if err := n.further(l, target, d, f.By); err != nil {
		return nil, err
	}
	passed := measure(l, d)
	end := func(context.Context) (proof, error) {
		p := passed()
		if err := n.further(l, target, d, -f.By); err != nil {
			return proof{}, err
		}
		measured := map[string]string{"messages": strconv.Itoa(p.Messages), "shortest": p.Shortest.String()}
		return proof{measured: measured, effective: p.Messages == 0 || p.Shortest >= f.By-delaySlack, met: &p.SetOut}, nil
	}
	a := &Active{Target: target, fault: f, end: end,
		asked: map[string]string{"by": f.By.String(), "direction": string(d)}}
	return n.begin(a, proof{effective: true}), nil
}
