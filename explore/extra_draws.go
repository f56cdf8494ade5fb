package explore

import (
	"math/rand/v2"
	"slices"

	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// The draws of this file follow a schedule's main draw. Each has its own random source, so that most seeds still give
// the same schedule as before the draw was added.

// reportedEvents draws events that users report: servers lose their scripts, callers cancel a release, and, if nodes
// may forget, a third party deletes the key.
func (d *generator) reportedEvents(seed uint64) {
	d.Rand = rand.New(rand.NewPCG(seed, 0xf1e1d))
	var releases []drawnOperation
	for _, o := range d.operations {
		if o.verb == scenarios.VerbRelease {
			releases = append(releases, o)
		}
	}
	switch {
	case d.chance(0.03):
		d.add(d.after(pick(d.Rand, d.operations...)), scenarios.Step{Verb: nemesis.ScriptFlush, Targets: d.someNodes()})
	case len(releases) > 0 && d.chance(0.03):
		o := pick(d.Rand, releases...)
		at := d.duringOperation(o.at) + d.between(0, d.limits.nodeTimeout)
		d.add(at, scenarios.Step{Verb: scenarios.VerbCancel, Targets: []string{client(o.client)}})
	case d.space.broken(Memory) && d.chance(0.1):
		d.add(d.after(pick(d.Rand, d.operations...)),
			scenarios.Step{Verb: nemesis.DeleteKey, Targets: d.someNodes(), Key: scenarios.DefaultKey})
	}
}

// starvation draws work that makes a lock's timers late, mostly at a client with automatic renewal.
func (d *generator) starvation(seed uint64) {
	d.Rand = rand.New(rand.NewPCG(seed, 0x57a12e))
	timed, chance := d.operations, 0.03
	renewed := slices.DeleteFunc(slices.Clone(d.operations), func(o drawnOperation) bool {
		return o.verb != scenarios.VerbWatch && (o.verb != scenarios.VerbAcquire || !d.space.can.Renews)
	})
	if len(renewed) > 0 {
		timed, chance = renewed, 0.3
	}
	if !d.space.can.OwnClock || d.space.can.Program || !d.chance(chance) {
		return
	}
	o := pick(d.Rand, timed...)
	at := d.after(o)
	d.add(at, scenarios.Step{Verb: nemesis.Starve, Targets: []string{client(o.client)}, For: d.duration(at)})
}

// readOnly draws a failover that a node's clients do not notice: for a while the node refuses their writes.
func (d *generator) readOnly(seed uint64) {
	d.Rand = rand.New(rand.NewPCG(seed, 0x2ead0))
	if !d.chance(0.03) {
		return
	}
	at := d.after(pick(d.Rand, d.operations...))
	d.add(at, scenarios.Step{Verb: nemesis.Demote, Targets: []string{d.node()}, For: d.duration(at)})
}

// someNodes draws one node, a majority, or all.
func (d *generator) someNodes() []string {
	count := pick(d.Rand, 1, d.out.Nodes/2+1, d.out.Nodes)
	nodes := d.all(node, d.out.Nodes)
	d.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	nodes = nodes[:count]
	slices.Sort(nodes)
	return nodes
}
