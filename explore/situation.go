package explore

import (
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// Some liveness violations show only while clients retry for long. Long retries are the slowest part of a schedule and
// seldom show anything else, so a few schedules are drawn for them alone.

// addCompetitors lets three clients acquire at once and retry. Each is near to other nodes, so that each is first at
// some nodes and none at a majority.
func (d *generator) addCompetitors() {
	s := d.out
	s.Clients = 3
	s.Lock = scenarios.Lock{NodeTimeout: fixed(s.TTL / 5), RetryMin: fixed(s.TTL / 5), RetryMax: fixed(s.TTL * 2 / 5)}
	d.limits = d.space.limits(s.Lock)
	by := d.between(s.TTL/100, s.TTL/25) // a new connection costs two round trips
	for c := range s.Clients {
		var far []string
		for n := range s.Nodes {
			if n%s.Clients != c {
				far = append(far, client(c)+"-"+node(n))
			}
		}
		d.add(0, scenarios.Step{Verb: nemesis.Delay, Targets: far, Direction: history.Both,
			By: fixed(by), For: fixed(20 * s.TTL)})
	}
	at, timeout := d.between(0, s.TTL/10), s.TTL*5/2+d.span()
	for c := range s.Clients {
		d.addOperation(c, scenarios.VerbAcquire, at, timeout)
	}
}

// keepRunning lets one client hold its lease as long as its watchdog extends it, while another acquires.
func (d *generator) keepRunning() {
	s := d.out
	s.Lock = scenarios.Lock{RetryMin: fixed(s.TTL * 2 / 5), RetryMax: fixed(s.TTL * 3 / 5)}
	s.Lock.MaxExtensions = 1
	d.limits = d.space.limits(s.Lock)
	at := d.between(0, s.TTL/10)
	clients := d.Perm(s.Clients)
	d.addOperation(clients[0], scenarios.VerbAcquire, at, 0)
	d.addOperation(clients[0], scenarios.VerbWatch, at+d.between(d.limits.nodeTimeout, s.TTL/2), 0)
	d.addOperation(clients[1], scenarios.VerbAcquire, at+d.between(s.TTL/100, s.TTL/2), s.TTL*3+d.span())
	if len(d.kinds) > 0 && d.chance(0.3) {
		d.fault()
	}
	d.out.Steps = slices.DeleteFunc(d.out.Steps,
		func(s Step) bool { return s.Verb == nemesis.Kill && s.Targets[0] == client(clients[0]) })
}
