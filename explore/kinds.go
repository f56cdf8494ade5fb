package explore

import (
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// kind is one kind of fault as it is drawn.
type kind struct {
	name string
	// under is the assumption that it breaks, "" for what every lock is to survive.
	under Assumption
	// clock: it sets a client's clock, which the lock must have from the harness.
	clock bool
	// weight is how much more often than others it is drawn.
	weight int
	draw   func(d *generator, of drawnOperation, at time.Duration)
}

var drawable = []kind{
	{"hold", "", false, 4, func(d *generator, of drawnOperation, at time.Duration) { d.message(nemesis.Hold, of, at) }},
	{"lose", "", false, 2, func(d *generator, of drawnOperation, at time.Duration) { d.message(nemesis.Lose, of, at) }},
	{"drop", "", false, 1, func(d *generator, of drawnOperation, at time.Duration) { d.message(nemesis.Drop, of, at) }},
	{"cut", "", false, 2, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(at, scenarios.Step{Verb: nemesis.Cut, Targets: d.links(of.client), Direction: d.direction(), For: d.lasting(at)})
	}},
	// From the beginning on each client reaches a majority of its own.
	{"partition", "", false, 1, func(d *generator, _ drawnOperation, _ time.Duration) {
		for i := range d.out.Clients {
			var cut []string
			for _, n := range d.Perm(d.out.Nodes)[:d.IntN((d.out.Nodes+1)/2)] {
				cut = append(cut, client(i)+"-"+node(n))
			}
			if len(cut) > 0 {
				slices.Sort(cut)
				lasts := scenarios.Span{Fixed: 2*d.span() + d.space.TTL/2}
				d.do(0, scenarios.Step{Verb: nemesis.Cut, Targets: cut, Direction: history.Both, For: lasts})
			}
		}
	}},
	{"delay", "", false, 2, func(d *generator, of drawnOperation, at time.Duration) {
		step := scenarios.Step{Verb: nemesis.Delay, Targets: d.links(of.client), Direction: d.direction(), For: d.lasting(at)}
		step.By.Fixed = d.span() / 4
		if d.chance(0.5) { // as late as an answer may be that still counts
			step.By.Fixed = d.lateReplyDelay()
			if step.Direction == history.Both || d.chance(0.5) { // a new connection costs two ways to and fro
				step.By.Fixed = d.round(step.By.Fixed / 2)
			}
		}
		d.do(at, step)
	}},
	{"pause-client", "", false, 2, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(d.duringOperation(at),
			scenarios.Step{Verb: nemesis.Pause, Targets: []string{client(of.client)}, For: d.lasting(at)})
	}},
	{"pause-node", "", false, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(at, scenarios.Step{Verb: nemesis.Pause, Targets: []string{d.node()}, For: d.lasting(at)})
	}},
	{"kill-client", "", false, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(d.duringOperation(at), scenarios.Step{Verb: nemesis.Kill, Targets: []string{client(of.client)}})
	}},
	{"kill-node", "", false, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(at, scenarios.Step{Verb: nemesis.Kill, Targets: []string{d.node()}, After: d.lasting(at)})
	}},
	{"power-loss", "", false, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(at, scenarios.Step{Verb: nemesis.PowerLoss, Targets: []string{d.node()}, After: d.lasting(at)})
	}},
	// A client's wall clock is nothing that a lock need trust.
	{"wall-clock", "", true, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(d.duringOperation(at), scenarios.Step{Verb: nemesis.Clock, Targets: []string{client(of.client)}, Jump: d.jump()})
	}},
	{"flush", Memory, false, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(at, scenarios.Step{Verb: nemesis.Flush, Targets: []string{d.node()}})
	}},
	{"node-jump", Clocks, false, 1, func(d *generator, of drawnOperation, at time.Duration) {
		d.do(at, scenarios.Step{Verb: nemesis.Clock, Targets: []string{d.node()}, Jump: d.jump()})
	}},
	{"rate", Clocks, true, 1, func(d *generator, of drawnOperation, at time.Duration) {
		whose := client(of.client)
		if d.chance(0.5) {
			whose = d.node()
		}
		d.do(at, scenarios.Step{Verb: nemesis.Clock, Targets: []string{whose}, Rate: pick(d.Rand, 0.5, 0.9, 1.1, 2)})
	}},
}

// kinds are those that one schedule draws from.
func (s *Space) kinds() []kind {
	var all []kind
	for _, k := range drawable {
		if (k.under == "" || s.broken(k.under)) && (!k.clock || s.can.OwnClock) {
			all = append(all, slices.Repeat([]kind{k}, k.weight)...)
		}
	}
	return all
}

// sends are the commands that an operation may send, those that it sends first twice.
var sends = map[scenarios.Verb][]string{
	scenarios.VerbAcquire: {history.Take, history.Take, history.Release},
	scenarios.VerbExtend:  {history.Extend, history.Extend, history.Release},
	scenarios.VerbWatch:   {history.Extend},
	scenarios.VerbRelease: {history.Release},
}

// message draws a fault on the next message of a kind on some links, most often of one
// that the operation sends.
func (d *generator) message(verb scenarios.Verb, of drawnOperation, at time.Duration) {
	what := []string{history.Take, history.Release, history.Extend}
	if sends[of.verb] != nil && d.chance(0.8) {
		what = sends[of.verb]
	}
	step := scenarios.Step{Verb: verb, Targets: d.links(of.client), Of: pick(d.Rand, what...),
		Part: pick(d.Rand, history.PartCommand, history.PartReply), Times: 1, For: d.lasting(at)}
	if verb == nemesis.Hold && step.Part == history.PartReply && d.chance(0.5) {
		step.For.Fixed = d.lateReplyDelay()
	}
	d.do(at, step)
}

func (d *generator) direction() history.Direction {
	return pick(d.Rand, history.Both, history.Both, history.ToNode, history.ToClient)
}

func (d *generator) jump() scenarios.Span {
	return scenarios.Span{Fixed: pick[time.Duration](d.Rand, -1, 1) * d.span()}
}

// duringOperation is a time in the midst of what a client begins at some time: while it connects,
// or its commands or their answers are under way.
func (d *generator) duringOperation(at time.Duration) time.Duration {
	return at + time.Duration(1+d.IntN(12))*d.space.TTL/(5*timeSteps)
}
