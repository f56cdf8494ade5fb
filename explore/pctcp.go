package explore

import (
	"time"

	"lockproof/harness/cluster"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// priorities draws the order of deliveries in place of faults, after PCTCP (Ozkan and
// others, OOPSLA 2018): each direction of each link is a chain of messages and has a
// priority of its own, drawn at random, by which it delivers sooner or later than all
// others; and at one or two points one chain falls behind all others.
//
// Its bound, 1/(w² n^(d-1)) for a bug of depth d over w chains and n messages, is about a
// scheduler that alone decides what is delivered next. Here clients have clocks and
// timeouts of their own, and a priority is a delay; so no bound is claimed.
func (d *drawer) priorities() {
	type chain struct {
		link string
		way  cluster.Direction
	}
	var chains []chain
	for c := range d.out.Clients {
		for n := range d.out.Nodes {
			link := client(c) + "-" + node(n)
			chains = append(chains, chain{link, cluster.ToNode}, chain{link, cluster.ToClient})
		}
	}
	// Of a new connection, four messages follow one another: all are to be in time.
	least := d.limits.nodeTimeout / time.Duration(5*len(chains))
	always := scenarios.Span{Fixed: 20 * d.space.TTL}
	for rank, i := range d.Perm(len(chains)) {
		if rank > 0 {
			d.do(0, scenarios.Step{Verb: nemesis.Delay, Targets: []string{chains[i].link}, Direction: chains[i].way,
				By: scenarios.Span{Fixed: time.Duration(rank) * least}, For: always})
		}
	}
	for range 1 + d.IntN(2) {
		c, at := pick(d.Rand, chains...), d.after(pick(d.Rand, d.asked...))
		d.do(at, scenarios.Step{Verb: nemesis.Cut, Targets: []string{c.link}, Direction: c.way, For: d.lasting(max(0, at))})
	}
}
