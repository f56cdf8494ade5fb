package explore

import (
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// What keeps a lock from being granted needs clients that ask for long, which costs the
// most and shows the least elsewhere. So a few schedules are about nothing else.

// addCompetitors has three clients, each of which is near to nodes of its own, ask at once and go
// on asking: each is the first at some nodes, and nobody at a majority.
func (d *generator) addCompetitors() {
	s := d.out
	s.Clients, s.Lock = 3, Lock{NodeTimeout: s.TTL / 5, RetryMin: s.TTL / 5, RetryMax: s.TTL * 2 / 5}
	d.limits = d.space.limits(s.Lock)
	by := d.between(s.TTL/100, s.TTL/25) // a new connection costs two ways to and fro
	for c := range s.Clients {
		var far []string
		for n := range s.Nodes {
			if n%s.Clients != c {
				far = append(far, client(c)+"-"+node(n))
			}
		}
		d.do(0, scenarios.Step{Verb: nemesis.Delay, Targets: far, Direction: history.Both,
			By: scenarios.Span{Fixed: by}, For: scenarios.Span{Fixed: 20 * s.TTL}})
	}
	at, patience := d.between(0, s.TTL/10), s.TTL*5/2+d.span()
	for c := range s.Clients {
		d.ask(c, scenarios.VerbAcquire, at, patience)
	}
}

// keepRunning has a client hold on to its lease for as long as its watchdog extends it, while
// another asks.
func (d *generator) keepRunning() {
	s := d.out
	s.Lock = Lock{MaxExtensions: 1, RetryMin: s.TTL * 2 / 5, RetryMax: s.TTL * 3 / 5}
	d.limits = d.space.limits(s.Lock)
	at := d.between(0, s.TTL/10)
	who := d.Perm(s.Clients)
	d.ask(who[0], scenarios.VerbAcquire, at, 0)
	d.ask(who[0], scenarios.VerbWatch, at+d.between(d.limits.nodeTimeout, s.TTL/2), 0)
	d.ask(who[1], scenarios.VerbAcquire, at+d.between(s.TTL/100, s.TTL/2), s.TTL*3+d.span())
	if len(d.kinds) > 0 && d.chance(0.3) {
		d.fault()
	}
	d.out.Steps = slices.DeleteFunc(d.out.Steps,
		func(s Step) bool { return s.Verb == nemesis.Kill && s.Targets[0] == client(who[0]) })
}
