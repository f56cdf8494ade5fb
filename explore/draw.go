package explore

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// timeSteps is what drawn times are rounded to, in parts of the TTL: so that what is
// written down reads well, and runs at another TTL.
const timeSteps = 1000

// generator draws one schedule.
type generator struct {
	*rand.Rand
	space  *Space
	limits limits
	kinds  []kind // of faults
	out    *Schedule
	asked  []drawnOperation // in the order in which they were drawn
}

// drawnOperation is an operation of a client: faults, and what other clients do, come around it.
type drawnOperation struct {
	client int
	verb   scenarios.Verb
	at     time.Duration
}

// Draw draws the schedule of a seed. It is the same for the same space and seed.
func (s *Space) Draw(seed uint64) *Schedule {
	d := s.drawer(seed)
	if s.can.OwnClock && d.chance(0.4) {
		d.drift()
	}
	switch {
	case d.chance(0.015):
		d.addCompetitors()
	case s.can.Watches && d.chance(0.02):
		d.keepRunning()
	default:
		d.work()
		for range d.faults() {
			d.fault()
		}
		d.fromTheField(seed)
		d.starvation(seed)
		d.readOnly(seed)
	}
	d.out.normalize()
	return d.out
}

// drawer has drawn who there is and which faults there may be, and nothing else yet.
func (s *Space) drawer(seed uint64) *generator {
	d := &generator{Rand: rand.New(rand.NewPCG(seed, 0x10c4)), space: s}
	d.setting()
	d.resends(seed)
	d.kinds = s.kinds()
	return d
}

func client(i int) string { return "c" + strconv.Itoa(i+1) }
func node(i int) string   { return "n" + strconv.Itoa(i+1) }

// setting draws who there is.
func (d *generator) setting() {
	s := &Schedule{TTL: d.space.TTL, Nodes: 3, Clients: 2, Persistence: cluster.PersistAlways}
	if d.chance(0.25) {
		s.Nodes = 5
	} else if d.chance(0.1) {
		s.Nodes = 4
	}
	if d.chance(0.25) {
		s.Clients = 3
	}
	if d.space.broken(Memory) && d.chance(0.8) {
		s.Persistence = cluster.PersistNone
	}
	if d.space.can.Servers > 1 {
		s.Nodes = d.space.can.Servers
	}
	if d.space.can.SingleNode {
		s.Nodes = 1
	} else if d.space.broken(Servers) {
		s.Aliases = map[string]string{"n2": "n1"}
	}
	switch {
	case d.chance(0.5):
		s.Lock.NodeTimeout = pick(d.Rand, s.TTL/5, s.TTL/2, s.TTL)
	case d.chance(0.1):
		s.Lock.MaxExtensions = 2
	}
	if d.chance(0.2) {
		s.Lock.Tries = pick(d.Rand, 1, 1, 2, 3)
	}
	d.retry(s)
	d.out, d.limits = s, d.space.limits(s.Lock)
}

// resends draws how often the client library sends a command again whose connection broke
// before it was answered: most are told not to, some do. It has a source of its own, so
// that all else of a seed's schedule is as it was before resends were drawn.
func (d *generator) resends(seed uint64) {
	if r := rand.New(rand.NewPCG(seed, 0x7e5e)); r.Float64() < 0.1 {
		d.out.Lock.Resends = 1 + r.IntN(3)
	}
}

// retry draws how long a client waits before it asks again: most often longer than by
// default. Most of what a schedule costs is attempts on a lock that another client has,
// and each further one shows little that the one before did not.
func (d *generator) retry(s *Schedule) {
	switch {
	case d.chance(0.15):
	case d.chance(0.6):
		s.Lock.RetryMin, s.Lock.RetryMax = s.TTL/5, s.TTL*2/5
	default:
		s.Lock.RetryMin, s.Lock.RetryMax = s.TTL*2/5, s.TTL*3/5
	}
}

// drift lets clocks differ by the drift factor: most often such that leases last longer
// for their clients than on the nodes.
func (d *generator) drift() {
	slow, fast := d.all(client, d.out.Clients), d.all(node, d.out.Nodes)
	if d.chance(0.3) {
		slow, fast = fast, slow
	}
	d.do(0, scenarios.Step{Verb: nemesis.Clock, Targets: slow, Rate: 0.995})
	d.do(0, scenarios.Step{Verb: nemesis.Clock, Targets: fast, Rate: 1.005})
}

func (d *generator) all(name func(int) string, count int) []string {
	var names []string
	for i := range count {
		names = append(names, name(i))
	}
	return names
}

func (d *generator) chance(p float64) bool { return d.Float64() < p }

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// between draws a time, uniformly.
func (d *generator) between(least, most time.Duration) time.Duration {
	return d.round(least + time.Duration(d.Int64N(int64(most-least)+1)))
}

func (d *generator) round(t time.Duration) time.Duration { return t.Round(d.space.TTL / timeSteps) }

// span draws for how long something lasts: near a limit, or anything from a
// thousandth of the TTL to half as much again, the short ones as likely as the long.
func (d *generator) span() time.Duration {
	ttl := d.space.TTL
	if d.chance(0.5) {
		return max(ttl/timeSteps, d.nearLimit(pick(d.Rand, d.limits.all()...)))
	}
	if d.chance(0.5) {
		return d.between(ttl/timeSteps, ttl*3/2)
	}
	return d.between(ttl/timeSteps, ttl/10)
}

// nearLimit draws a time at, shortly before or shortly after another.
func (d *generator) nearLimit(t time.Duration) time.Duration {
	ttl := d.space.TTL
	return d.round(t + pick[time.Duration](d.Rand, 0, 0, -1, 1)*pick(d.Rand, ttl/timeSteps, ttl/200, ttl/50, ttl/20))
}

// after draws when something happens that has to do with an operation of a client:
// nearLimit when it begins, when it may be given up, or when the lease that it may give ends.
func (d *generator) after(a drawnOperation) time.Duration {
	l := d.limits
	if a.verb == scenarios.VerbRelease || d.chance(0.4) {
		return max(0, d.nearLimit(a.at))
	}
	return d.nearLimit(a.at + pick(d.Rand, l.nodeTimeout, l.ttl/2, l.validity, l.ttl, l.ttl, l.ttl, l.ttl+l.nodeTimeout))
}

// do adds a step.
func (d *generator) do(at time.Duration, step scenarios.Step) {
	d.out.Steps = append(d.out.Steps, Step{At: max(0, at), Step: step})
}

// work draws the rounds of the clients, one after another: most often of another client
// than the last, and at a time that has to do with what was drawn before. Clients that do
// not meet show nothing.
func (d *generator) work() {
	who, at := d.IntN(d.out.Clients), d.between(0, d.out.TTL/10)
	for range pick(d.Rand, 2, 2, 3, 3, 4, 5) {
		d.useLock(who, at)
		if d.chance(0.8) {
			who = (who + 1 + d.IntN(d.out.Clients-1)) % d.out.Clients
		}
		recent := d.asked[max(0, len(d.asked)-4):]
		at = d.after(pick(d.Rand, recent...))
	}
}

// ask adds an operation of a client.
func (d *generator) ask(who int, verb scenarios.Verb, at, within time.Duration) {
	at = max(0, at)
	d.asked = append(d.asked, drawnOperation{who, verb, at})
	d.out.Steps = append(d.out.Steps, operation(verb, client(who), at, within))
}

// useLock draws one round of a client: acquire, what one does with a lease, and release.
// Whether it has a lease by then shows when it runs.
func (d *generator) useLock(who int, at time.Duration) {
	d.ask(who, scenarios.VerbAcquire, at, d.acquireTimeout())
	if d.chance(0.08) {
		d.do(at+d.span()/4, scenarios.Step{Verb: scenarios.VerbCancel, Targets: []string{client(who)}})
	}
	hold := d.span()
	on := d.chance(0.45) // until its lease is over
	if on {
		hold += d.out.TTL
	}
	if d.space.broken(Pauses) && d.chance(0.7) {
		d.ask(who, scenarios.VerbRead, at+hold/3, 0)
		d.ask(who, scenarios.VerbWrite, at+hold*2/3, 0)
	}
	switch {
	case d.chance(0.15) && d.space.can.Watches:
		d.ask(who, scenarios.VerbWatch, at+d.limits.nodeTimeout, 0)
		hold *= 2
	case d.chance(0.3) && d.space.can.Extends:
		d.ask(who, scenarios.VerbExtend, at+hold*9/10, 0)
		hold += d.span()
	}
	if !on && d.chance(0.9) {
		d.ask(who, scenarios.VerbRelease, at+hold, 0)
	}
}

// acquireTimeout draws for how long a client goes on asking: often to see the end of somebody
// else's lease.
func (d *generator) acquireTimeout() time.Duration {
	patience := max(d.out.TTL/20, d.span())
	if d.chance(0.6) {
		patience += d.out.TTL * 3 / 2
	}
	return patience
}

// faults draws how many there are.
func (d *generator) faults() int {
	if len(d.kinds) == 0 {
		return 0
	}
	return 1 + d.IntN(4)
}

// fault draws one fault, most often just before a client begins something. What it has
// done shows when another client asks, so one may do that about when it is over.
func (d *generator) fault() {
	about := pick(d.Rand, d.asked...)
	if about.verb != scenarios.VerbAcquire { // most commands are those of an acquire
		about = pick(d.Rand, d.asked...)
	}
	at := about.at - d.space.TTL/timeSteps
	switch {
	case d.chance(0.5):
	case d.chance(0.8):
		at = d.after(about)
	default:
		at = d.between(0, 3*d.space.TTL)
	}
	if d.chance(0.2) {
		about.client = d.IntN(d.out.Clients)
	}
	before := len(d.out.Steps)
	pick(d.Rand, d.kinds...).draw(d, about, max(0, at))
	for _, step := range d.out.Steps[before:] {
		if lasts := max(step.For.Fixed, step.After.Fixed); lasts > 0 && d.chance(0.35) {
			other := (about.client + 1 + d.IntN(d.out.Clients-1)) % d.out.Clients
			d.ask(other, scenarios.VerbAcquire, d.nearLimit(step.At+lasts), d.acquireTimeout())
			return
		}
	}
}

// lasting draws for how long a fault that begins at a time lasts: as anything does, or
// until about when something has to do with an operation of a client.
func (d *generator) lasting(at time.Duration) scenarios.Span {
	for range 3 {
		until := d.after(pick(d.Rand, d.asked...))
		if until > at && d.chance(0.5) {
			return scenarios.Span{Fixed: until - at}
		}
	}
	return scenarios.Span{Fixed: d.span()}
}

// lateReplyDelay is as late as the answers of an operation may be that still count.
func (d *generator) lateReplyDelay() time.Duration { return d.round(d.limits.nodeTimeout * 4 / 5) }

// links draws some of the links of one client: one, as many as decide, or any number;
// or all clients' links to one node.
func (d *generator) links(who int) []string {
	var links []string
	if d.chance(0.1) {
		n := d.node()
		for i := range d.out.Clients {
			links = append(links, client(i)+"-"+n)
		}
		return links
	}
	majority := d.out.Nodes/2 + 1
	count := pick(d.Rand, 1, majority, majority, d.out.Nodes, 1+d.IntN(d.out.Nodes))
	for _, i := range d.Perm(d.out.Nodes)[:count] {
		links = append(links, client(who)+"-"+node(i))
	}
	slices.Sort(links)
	return links
}

func (d *generator) node() string { return node(d.IntN(d.out.Nodes)) }
