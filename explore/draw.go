package explore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"lockproof/harness/cluster"
	"lockproof/nemesis"
	"lockproof/scenarios"
)

// grain is what drawn times are rounded to, in parts of the TTL: so that what is
// written down reads well, and runs at another TTL.
const grain = 1000

// drawer draws one schedule.
type drawer struct {
	*rand.Rand
	space  *Space
	limits limits
	kinds  []kind // of faults
	out    *Schedule
	// moments are when operations begin: faults come around them.
	moments []time.Duration
}

// Draw draws the schedule of a seed. It is the same for the same space and seed.
func (s *Space) Draw(seed uint64) *Schedule {
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, 0x10c4)), space: s}
	d.setting()
	d.kinds = s.kinds(d.Rand)
	for i := range d.out.Clients {
		d.work(client(i), d.between(0, d.out.TTL/2))
	}
	for range d.faults() {
		d.fault()
	}
	d.out.settle()
	return d.out
}

func client(i int) string { return "c" + strconv.Itoa(i+1) }
func node(i int) string   { return "n" + strconv.Itoa(i+1) }

// setting draws who there is.
func (d *drawer) setting() {
	s := &Schedule{TTL: d.space.TTL, Nodes: 3, Clients: 2, Persistence: cluster.PersistAlways}
	if d.chance(0.25) {
		s.Nodes = 5
	} else if d.chance(0.1) {
		s.Nodes = 4
	}
	if d.chance(0.3) {
		s.Clients = 3
	}
	if d.space.broken(Memory) && d.chance(0.8) {
		s.Persistence = cluster.PersistNone
	}
	if d.space.broken(Servers) {
		s.Aliases = map[string]string{"n2": "n1"}
	}
	switch {
	case d.chance(0.25):
		s.Lock.NodeTimeout = pick(d.Rand, s.TTL/5, s.TTL/2)
	case d.chance(0.1):
		s.Lock.MaxExtensions = 2
	}
	if d.chance(0.3) {
		s.Lock.Tries = 1 + d.IntN(3)
	}
	d.out, d.limits = s, d.space.limits(s.Lock.NodeTimeout)
	if d.space.can.OwnClock && d.chance(0.25) {
		d.drift()
	}
}

// drift lets clocks differ by the drift factor: most often such that leases last longer
// for their clients than on the nodes.
func (d *drawer) drift() {
	slow, fast := d.all(client, d.out.Clients), d.all(node, d.out.Nodes)
	if d.chance(0.3) {
		slow, fast = fast, slow
	}
	d.do(0, scenarios.Step{Verb: nemesis.Clock, Targets: slow, Rate: 0.995})
	d.do(0, scenarios.Step{Verb: nemesis.Clock, Targets: fast, Rate: 1.005})
}

func (d *drawer) all(name func(int) string, count int) []string {
	var names []string
	for i := range count {
		names = append(names, name(i))
	}
	return names
}

func (d *drawer) chance(p float64) bool { return d.Float64() < p }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// between draws a time, uniformly.
func (d *drawer) between(least, most time.Duration) time.Duration {
	return d.round(least + time.Duration(d.Int64N(int64(most-least)+1)))
}

func (d *drawer) round(t time.Duration) time.Duration { return t.Round(d.space.TTL / grain) }

// span draws for how long something lasts: near a limit, or anything from a
// thousandth of the TTL to half as much again, the short ones as likely as the long.
func (d *drawer) span() time.Duration {
	ttl := d.space.TTL
	if d.chance(0.5) {
		at := pick(d.Rand, d.limits.all()...)
		return max(ttl/grain, d.round(at+pick[time.Duration](d.Rand, -1, 0, 1)*pick(d.Rand, ttl/200, ttl/50, ttl/20)))
	}
	if d.chance(0.5) {
		return d.between(ttl/grain, ttl*3/2)
	}
	return d.between(ttl/grain, ttl/10)
}

// do adds a step.
func (d *drawer) do(at time.Duration, step scenarios.Step) {
	d.out.Steps = append(d.out.Steps, Step{At: max(0, at), Step: step})
}

// work draws what one client does: rounds of acquire, what one does with a lease, and
// release. Whether it has a lease by then shows when it runs.
func (d *drawer) work(name string, at time.Duration) {
	ask := func(verb scenarios.Verb, at, within time.Duration) {
		d.moments = append(d.moments, at)
		step := scenarios.Step{Verb: verb, Targets: []string{name}, Async: true}
		step.IfHeld = verb != scenarios.VerbAcquire && verb != scenarios.VerbRead
		if verb == scenarios.VerbAcquire || verb == scenarios.VerbRead || verb == scenarios.VerbWrite {
			step.Key = scenarios.DefaultKey
		}
		if within > 0 {
			step.Within = scenarios.Span{Fixed: within}
		}
		d.do(at, step)
	}
	for range 1 + d.IntN(3) {
		ask(scenarios.VerbAcquire, at, max(d.out.TTL/20, d.span()*time.Duration(1+d.IntN(2))))
		if d.chance(0.08) {
			d.do(at+d.span()/4, scenarios.Step{Verb: scenarios.VerbCancel, Targets: []string{name}})
		}
		hold := d.span()
		if d.space.broken(Pauses) && d.chance(0.7) {
			ask(scenarios.VerbRead, at+hold/3, 0)
			ask(scenarios.VerbWrite, at+hold*2/3, 0)
		}
		switch {
		case d.chance(0.15) && d.space.can.Watches:
			ask(scenarios.VerbWatch, at+d.limits.nodeTimeout, 0)
			hold *= 2
		case d.chance(0.3) && d.space.can.Extends:
			ask(scenarios.VerbExtend, at+hold*9/10, 0)
			hold += d.span()
		}
		if d.chance(0.8) {
			ask(scenarios.VerbRelease, at+hold, 0)
		}
		at += hold + d.span()/2
	}
}

// faults draws how many there are.
func (d *drawer) faults() int {
	if len(d.kinds) == 0 {
		return 0
	}
	return 1 + d.IntN(6)
}

// fault draws one fault, most often shortly before or after a client begins something.
func (d *drawer) fault() {
	at := pick(d.Rand, d.moments...)
	switch {
	case d.chance(0.4):
		at -= d.space.TTL / grain
	case d.chance(0.6):
		at += d.span() / 4
	default:
		at = d.between(0, 3*d.space.TTL)
	}
	pick(d.Rand, d.kinds...).draw(d, max(0, at))
}

// links draws some of the links of one client, or all clients' links to one node.
func (d *drawer) links() []string {
	var links []string
	if d.chance(0.2) {
		n := d.node()
		for i := range d.out.Clients {
			links = append(links, client(i)+"-"+n)
		}
		return links
	}
	c := d.client()
	for _, i := range d.Perm(d.out.Nodes)[:1+d.IntN(d.out.Nodes)] {
		links = append(links, c+"-"+node(i))
	}
	slices.Sort(links)
	return links
}

func (d *drawer) client() string { return client(d.IntN(d.out.Clients)) }
func (d *drawer) node() string   { return node(d.IntN(d.out.Nodes)) }
func (d *drawer) link() string   { return fmt.Sprintf("%s-%s", d.client(), d.node()) }
