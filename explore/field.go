package explore

import (
	"math/rand/v2"
	"slices"

	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// fromTheField draws what users report of the locks that they use: servers that forget their
// scripts, callers that give up a release, and, where nodes need not remember, a third party
// that deletes the key. It has a source of its own, so that most seeds' schedules are as they
// were before.
func (d *generator) fromTheField(seed uint64) {
	d.Rand = rand.New(rand.NewPCG(seed, 0xf1e1d))
	var releases []drawnOperation
	for _, o := range d.asked {
		if o.verb == scenarios.VerbRelease {
			releases = append(releases, o)
		}
	}
	switch {
	case d.chance(0.03):
		d.do(d.after(pick(d.Rand, d.asked...)), scenarios.Step{Verb: nemesis.ScriptFlush, Targets: d.someNodes()})
	case len(releases) > 0 && d.chance(0.03):
		o := pick(d.Rand, releases...)
		at := d.duringOperation(o.at) + d.between(0, d.limits.nodeTimeout)
		d.do(at, scenarios.Step{Verb: scenarios.VerbCancel, Targets: []string{client(o.client)}})
	case d.space.broken(Memory) && d.chance(0.1):
		d.do(d.after(pick(d.Rand, d.asked...)),
			scenarios.Step{Verb: nemesis.DeleteKey, Targets: d.someNodes(), Key: scenarios.DefaultKey})
	}
}

// starvation draws work that makes the lock's timers late, above all of a client that has them renew its lease.
// It has a source of its own, as fromTheField has.
func (d *generator) starvation(seed uint64) {
	d.Rand = rand.New(rand.NewPCG(seed, 0x57a12e))
	timed, chance := d.asked, 0.03
	renewed := slices.DeleteFunc(slices.Clone(d.asked), func(o drawnOperation) bool {
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
	d.do(at, scenarios.Step{Verb: nemesis.Starve, Targets: []string{client(o.client)}, For: d.lasting(at)})
}

// readOnly draws a failover that a node's clients have not heard of: for a while it refuses their writes. It has a
// source of its own, as fromTheField has.
func (d *generator) readOnly(seed uint64) {
	d.Rand = rand.New(rand.NewPCG(seed, 0x2ead0))
	if !d.chance(0.03) {
		return
	}
	at := d.after(pick(d.Rand, d.asked...))
	d.do(at, scenarios.Step{Verb: nemesis.Demote, Targets: []string{d.node()}, For: d.lasting(at)})
}

// someNodes draws one node, or any number of them.
func (d *generator) someNodes() []string {
	count := pick(d.Rand, 1, d.out.Nodes/2+1, d.out.Nodes)
	nodes := d.all(node, d.out.Nodes)
	d.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	nodes = nodes[:count]
	slices.Sort(nodes)
	return nodes
}
