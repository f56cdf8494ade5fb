package nemesis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockproof/harness/cluster"
)

// link finds the link that a target such as c1-n3 names.
func (n *Nemesis) link(target string) (cluster.Link, error) {
	from, to, ok := strings.Cut(target, "-")
	if !ok {
		return nil, fmt.Errorf("%q is not a link: a client and a node, such as c1-n3, or a replica and its master", target)
	}
	l := n.cluster.Link(from, to)
	if l == nil {
		return nil, fmt.Errorf("there is no link from %q to %q", from, to)
	}
	return l, nil
}

// directions are the single ways that a direction is made of.
func directions(d cluster.Direction) []cluster.Direction {
	if d == cluster.Both || d == "" {
		return []cluster.Direction{cluster.ToNode, cluster.ToClient}
	}
	return []cluster.Direction{d}
}

// measure watches a link both ways, or one.
func measure(l cluster.Link, d cluster.Direction) func() cluster.Traffic {
	var read []func() cluster.Traffic
	for _, way := range directions(d) {
		read = append(read, l.Measure(way))
	}
	return func() cluster.Traffic {
		var sum cluster.Traffic
		for _, r := range read {
			t := r()
			if t.Messages > 0 && (sum.Messages == 0 || t.Shortest < sum.Shortest) {
				sum.Shortest = t.Shortest
			}
			sum.Messages += t.Messages
		}
		return sum
	}
}

// cut parts a client from a node. The proof is that nothing passed until it was
// healed.
func (n *Nemesis) cut(f Fault, target string) (*Active, error) {
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
	passed := measure(l, d)
	end := func(context.Context) (proof, error) {
		p := passed()
		if err := l.Heal(d); err != nil {
			return proof{}, err
		}
		return proof{map[string]string{"messages passed": strconv.Itoa(p.Messages)}, p.Messages == 0}, nil
	}
	a := &Active{Target: target, fault: f, asked: map[string]string{"direction": string(d)}, end: end}
	return n.begin(a, proof{effective: true}), nil
}

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
func (n *Nemesis) delay(f Fault, target string) (*Active, error) {
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
		return proof{measured, p.Messages == 0 || p.Shortest >= f.By-delaySlack}, nil
	}
	a := &Active{Target: target, fault: f, end: end,
		asked: map[string]string{"by": f.By.String(), "direction": string(d)}}
	return n.begin(a, proof{effective: true}), nil
}
