package nemesis

import (
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// link finds the link of a target such as c1-n3.
func (n *Nemesis) link(target string) (cluster.Link, error) {
	name, _ := history.LinkOf(target)
	l := n.cluster.Link(name.From, name.To)
	if l == nil {
		return nil, fmt.Errorf("no link %s: a link is CLIENT-NODE, as in c1-n3", target)
	}
	return l, nil
}

// directions splits Both into the two single directions.
func directions(d history.Direction) []history.Direction {
	if d == history.Both || d == "" {
		return []history.Direction{history.ToNode, history.ToClient}
	}
	return []history.Direction{d}
}

// measureTraffic measures a link in one or both directions.
func measureTraffic(l cluster.Link, d history.Direction) func() cluster.Traffic {
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
			sum.SetOut += t.SetOut
		}
		return sum
	}
}

// sendTimes converts the send times of messages to true times.
func (n *Nemesis) sendTimes(first []time.Time) []int64 {
	now, read := n.cluster.Now(), time.Now()
	var times []int64
	for _, sent := range first {
		times = append(times, now-int64(read.Sub(sent)))
	}
	return times
}
