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

// timeSteps divides the TTL: drawn times are multiples of a step, so that a scenario file reads well and fits another
// TTL.
const timeSteps = 1000

// generator draws one schedule.
type generator struct {
	*rand.Rand
	space      *Space
	limits     limits
	kinds      []kind // of faults
	out        *Schedule
	operations []drawnOperation // in draw order
}

// drawnOperation is a client's operation. Faults and other clients' operations are drawn around it.
type drawnOperation struct {
	client int
	verb   scenarios.Verb
	at     time.Duration
}

// Draw draws the schedule of a seed. One space and seed always give the same schedule.
func (s *Space) Draw(seed uint64) *Schedule {
	d := s.newGenerator(seed)
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
		d.reportedEvents(seed)
		d.starvation(seed)
		d.readOnly(seed)
	}
	d.out.normalize()
	return d.out
}

// newGenerator has drawn the set-up, and no steps.
func (s *Space) newGenerator(seed uint64) *generator {
	d := &generator{Rand: rand.New(rand.NewPCG(seed, 0x10c4)), space: s}
	d.setup()
	d.resends(seed)
	d.kinds = s.kinds()
	return d
}

func client(i int) string { return "c" + strconv.Itoa(i+1) }
func node(i int) string   { return "n" + strconv.Itoa(i+1) }

// setup draws nodes, clients and the lock's options.
func (d *generator) setup() {
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
		s.Lock.NodeTimeout = fixed(pick(d.Rand, s.TTL/5, s.TTL/2, s.TTL))
	case d.chance(0.1):
		s.Lock.MaxExtensions = 2
	}
	if d.chance(0.2) {
		s.Lock.Tries = pick(d.Rand, 1, 1, 2, 3)
	}
	d.retry(s)
	d.out, d.limits = s, d.space.limits(s.Lock)
}

// resends draws how often the client library resends an unanswered command after its connection broke, mostly never. It
// has its own random source, so that a seed's schedule is otherwise the same as before this was added.
func (d *generator) resends(seed uint64) {
	if r := rand.New(rand.NewPCG(seed, 0x7e5e)); r.Float64() < 0.1 {
		d.out.Lock.Resends = 1 + r.IntN(3)
	}
}

// retry draws the retry delay, mostly longer than the default. Attempts on a held lock are most of a schedule's cost,
// and further ones show little.
func (d *generator) retry(s *Schedule) {
	switch {
	case d.chance(0.15):
	case d.chance(0.6):
		s.Lock.RetryMin, s.Lock.RetryMax = fixed(s.TTL/5), fixed(s.TTL*2/5)
	default:
		s.Lock.RetryMin, s.Lock.RetryMax = fixed(s.TTL*2/5), fixed(s.TTL*3/5)
	}
}

// drift makes clocks differ by the drift factor, mostly so that leases last longer for clients than on nodes.
func (d *generator) drift() {
	slow, fast := d.all(client, d.out.Clients), d.all(node, d.out.Nodes)
	if d.chance(0.3) {
		slow, fast = fast, slow
	}
	d.add(0, scenarios.Step{Verb: nemesis.Clock, Targets: slow, Rate: 0.995})
	d.add(0, scenarios.Step{Verb: nemesis.Clock, Targets: fast, Rate: 1.005})
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

// between draws a time uniformly.
func (d *generator) between(least, most time.Duration) time.Duration {
	return d.round(least + time.Duration(d.Int64N(int64(most-least)+1)))
}

func (d *generator) round(t time.Duration) time.Duration { return t.Round(d.space.TTL / timeSteps) }

// span draws a duration: near a limit, or from 0.001 to 1.5 TTL, short ones as likely as long ones.
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

// after draws a time that matters for an operation: near its start, its timeout, or the end of its lease.
func (d *generator) after(op drawnOperation) time.Duration {
	l := d.limits
	if op.verb == scenarios.VerbRelease || d.chance(0.4) {
		return max(0, d.nearLimit(op.at))
	}
	return d.nearLimit(op.at + pick(d.Rand, l.nodeTimeout, l.ttl/2, l.validity, l.ttl, l.ttl, l.ttl, l.ttl+l.nodeTimeout))
}

func (d *generator) add(at time.Duration, step scenarios.Step) {
	d.out.Steps = append(d.out.Steps, Step{At: max(0, at), Step: step})
}

// work draws rounds of acquire and release, mostly by another client than the round before and near earlier
// operations: clients that do not contend show nothing.
func (d *generator) work() {
	c, at := d.IntN(d.out.Clients), d.between(0, d.out.TTL/10)
	for range pick(d.Rand, 2, 2, 3, 3, 4, 5) {
		d.useLock(c, at)
		if d.chance(0.8) {
			c = (c + 1 + d.IntN(d.out.Clients-1)) % d.out.Clients
		}
		recent := d.operations[max(0, len(d.operations)-4):]
		at = d.after(pick(d.Rand, recent...))
	}
}

func (d *generator) addOperation(c int, verb scenarios.Verb, at, within time.Duration) {
	at = max(0, at)
	d.operations = append(d.operations, drawnOperation{c, verb, at})
	d.out.Steps = append(d.out.Steps, operation(verb, client(c), at, within))
}

// useLock draws one round of a client: acquire, work under the lease, release. The work does nothing without a lease.
func (d *generator) useLock(c int, at time.Duration) {
	d.addOperation(c, scenarios.VerbAcquire, at, d.acquireTimeout())
	if d.chance(0.08) {
		d.add(at+d.span()/4, scenarios.Step{Verb: scenarios.VerbCancel, Targets: []string{client(c)}})
	}
	hold := d.span()
	unreleased := d.chance(0.45) // the lease expires
	if unreleased {
		hold += d.out.TTL
	}
	if d.space.broken(Pauses) && d.chance(0.7) {
		d.addOperation(c, scenarios.VerbRead, at+hold/3, 0)
		d.addOperation(c, scenarios.VerbWrite, at+hold*2/3, 0)
	}
	switch {
	case d.chance(0.15) && d.space.can.Watches:
		d.addOperation(c, scenarios.VerbWatch, at+d.limits.nodeTimeout, 0)
		hold *= 2
	case d.chance(0.3) && d.space.can.Extends:
		d.addOperation(c, scenarios.VerbExtend, at+hold*9/10, 0)
		hold += d.span()
	}
	if !unreleased && d.chance(0.9) {
		d.addOperation(c, scenarios.VerbRelease, at+hold, 0)
	}
}

// acquireTimeout draws how long a client retries, often beyond the end of another client's lease.
func (d *generator) acquireTimeout() time.Duration {
	timeout := max(d.out.TTL/20, d.span())
	if d.chance(0.6) {
		timeout += d.out.TTL * 3 / 2
	}
	return timeout
}

// faults draws the number of faults.
func (d *generator) faults() int {
	if len(d.kinds) == 0 {
		return 0
	}
	return 1 + d.IntN(4)
}

// fault draws one fault, mostly just before an operation. Another client may acquire near the fault's end, to show its
// consequences.
func (d *generator) fault() {
	op := pick(d.Rand, d.operations...)
	if op.verb != scenarios.VerbAcquire { // an acquire sends the most commands: prefer it
		op = pick(d.Rand, d.operations...)
	}
	at := op.at - d.space.TTL/timeSteps
	switch {
	case d.chance(0.5):
	case d.chance(0.8):
		at = d.after(op)
	default:
		at = d.between(0, 3*d.space.TTL)
	}
	if d.chance(0.2) {
		op.client = d.IntN(d.out.Clients)
	}
	before := len(d.out.Steps)
	pick(d.Rand, d.kinds...).draw(d, op, max(0, at))
	for _, step := range d.out.Steps[before:] {
		if lasts := max(step.For.Fixed, step.After.Fixed); lasts > 0 && d.chance(0.35) {
			other := (op.client + 1 + d.IntN(d.out.Clients-1)) % d.out.Clients
			d.addOperation(other, scenarios.VerbAcquire, d.nearLimit(step.At+lasts), d.acquireTimeout())
			return
		}
	}
}

// duration draws how long a fault lasts from a time: any span, or until a time that matters for an operation.
func (d *generator) duration(at time.Duration) scenarios.Span {
	for range 3 {
		until := d.after(pick(d.Rand, d.operations...))
		if until > at && d.chance(0.5) {
			return fixed(until - at)
		}
	}
	return fixed(d.span())
}

// lateReplyDelay delays an operation's replies so that they barely count.
func (d *generator) lateReplyDelay() time.Duration { return d.round(d.limits.nodeTimeout * 4 / 5) }

// links draws links of one client: one, a majority, all, or any number; or all clients' links to one node.
func (d *generator) links(c int) []string {
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
		links = append(links, client(c)+"-"+node(i))
	}
	slices.Sort(links)
	return links
}

func (d *generator) node() string { return node(d.IntN(d.out.Nodes)) }
