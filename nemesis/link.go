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

// sendTimes converts the send times of messages to true times.
func (n *Nemesis) sendTimes(first []time.Time) []int64 {
	now, read := n.cluster.Now(), time.Now()
	var times []int64
	for _, sent := range first {
		times = append(times, now-int64(read.Sub(sent)))
	}
	return times
}
