package explore

import (
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// kind is a kind of fault that a schedule may draw.
type kind struct {
	name string
	// breaks is an assumption, "" for a fault that every lock must survive.
	breaks Assumption
	// clock: it sets a client's clock, so the lock must read its time from the harness.
	clock bool
	// weight is its relative frequency.
	weight int
	draw   func(d *generator, op drawnOperation, at time.Duration)
}

var drawable = []kind{
	{"hold", "", false, 4, func(d *generator, op drawnOperation, at time.Duration) { d.message(nemesis.Hold, op, at) }},
	{"lose", "", false, 2, func(d *generator, op drawnOperation, at time.Duration) { d.message(nemesis.Lose, op, at) }},
	{"drop", "", false, 1, func(d *generator, op drawnOperation, at time.Duration) { d.message(nemesis.Drop, op, at) }},
	{"cut", "", false, 2, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(at,
			scenarios.Step{Verb: nemesis.Cut, Targets: d.links(op.client), Direction: d.direction(), For: d.duration(at)})
	}},
	// From the start each client reaches a majority of its own.
	{"partition", "", false, 1, func(d *generator, _ drawnOperation, _ time.Duration) {
		for i := range d.out.Clients {
			var cut []string
			for _, n := range d.Perm(d.out.Nodes)[:d.IntN((d.out.Nodes+1)/2)] {
				cut = append(cut, client(i)+"-"+node(n))
			}
			if len(cut) > 0 {
				slices.Sort(cut)
				lasts := fixed(2*d.span() + d.space.TTL/2)
				d.add(0, scenarios.Step{Verb: nemesis.Cut, Targets: cut, Direction: history.Both, For: lasts})
			}
		}
	}},
	{"delay", "", false, 2, func(d *generator, op drawnOperation, at time.Duration) {
		step := scenarios.Step{Verb: nemesis.Delay, Targets: d.links(op.client), Direction: d.direction()}
		step.For, step.By.Fixed = d.duration(at), d.span()/4
		if d.chance(0.5) {
			step.By.Fixed = d.lateReplyDelay()
			if step.Direction == history.Both || d.chance(0.5) { // a new connection costs two round trips
				step.By.Fixed = d.round(step.By.Fixed / 2)
			}
		}
		d.add(at, step)
	}},
	{"pause-client", "", false, 2, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(d.duringOperation(at),
			scenarios.Step{Verb: nemesis.Pause, Targets: []string{client(op.client)}, For: d.duration(at)})
	}},
	{"pause-node", "", false, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(at, scenarios.Step{Verb: nemesis.Pause, Targets: []string{d.node()}, For: d.duration(at)})
	}},
	{"kill-client", "", false, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(d.duringOperation(at), scenarios.Step{Verb: nemesis.Kill, Targets: []string{client(op.client)}})
	}},
	{"kill-node", "", false, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(at, scenarios.Step{Verb: nemesis.Kill, Targets: []string{d.node()}, After: d.duration(at)})
	}},
	{"power-loss", "", false, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(at, scenarios.Step{Verb: nemesis.PowerLoss, Targets: []string{d.node()}, After: d.duration(at)})
	}},
	// A jump of a client's wall clock breaks no assumption: a lock can use the monotonic clock.
	{"wall-clock", "", true, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(d.duringOperation(at),
			scenarios.Step{Verb: nemesis.Clock, Targets: []string{client(op.client)}, Jump: d.jump()})
	}},
	{"flush", Memory, false, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(at, scenarios.Step{Verb: nemesis.Flush, Targets: []string{d.node()}})
	}},
	{"node-jump", Clocks, false, 1, func(d *generator, op drawnOperation, at time.Duration) {
		d.add(at, scenarios.Step{Verb: nemesis.Clock, Targets: []string{d.node()}, Jump: d.jump()})
	}},
	{"rate", Clocks, true, 1, func(d *generator, op drawnOperation, at time.Duration) {
		target := client(op.client)
		if d.chance(0.5) {
			target = d.node()
		}
		d.add(at, scenarios.Step{Verb: nemesis.Clock, Targets: []string{target}, Rate: pick(d.Rand, 0.5, 0.9, 1.1, 2)})
	}},
}

// kinds lists the faults that the space allows, each repeated by its weight.
func (s *Space) kinds() []kind {
	var all []kind
	for _, k := range drawable {
		if (k.breaks == "" || s.broken(k.breaks)) && (!k.clock || s.can.OwnClock) {
			all = append(all, slices.Repeat([]kind{k}, k.weight)...)
		}
	}
	return all
}

// sends lists the commands of each operation; those that it sends first have double weight.
var sends = map[scenarios.Verb][]string{
	scenarios.VerbAcquire: {history.Take, history.Take, history.Release},
	scenarios.VerbExtend:  {history.Extend, history.Extend, history.Release},
	scenarios.VerbWatch:   {history.Extend},
	scenarios.VerbRelease: {history.Release},
}

// message draws a fault on the next message of a kind on some links, mostly a command of the operation.
func (d *generator) message(verb scenarios.Verb, op drawnOperation, at time.Duration) {
	commands := []string{history.Take, history.Release, history.Extend}
	if sends[op.verb] != nil && d.chance(0.8) {
		commands = sends[op.verb]
	}
	step := scenarios.Step{Verb: verb, Targets: d.links(op.client), Of: pick(d.Rand, commands...),
		Part: pick(d.Rand, history.PartCommand, history.PartReply), Times: 1, For: d.duration(at)}
	if verb == nemesis.Hold && step.Part == history.PartReply && d.chance(0.5) {
		step.For.Fixed = d.lateReplyDelay()
	}
	d.add(at, step)
}

func (d *generator) direction() history.Direction {
	return pick(d.Rand, history.Both, history.Both, history.ToNode, history.ToClient)
}

func (d *generator) jump() scenarios.Span {
	return fixed(pick[time.Duration](d.Rand, -1, 1) * d.span())
}

// duringOperation draws a time shortly after an operation's start, while its connections, commands or replies are
// under way.
func (d *generator) duringOperation(at time.Duration) time.Duration {
	return at + time.Duration(1+d.IntN(12))*d.space.TTL/(5*timeSteps)
}
