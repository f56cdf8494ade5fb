package explore

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
	"example.org/lockproof/scenarios"
)

// exhaustSeed is the seed of every trial of an exhaustive search: only the schedules differ.
const exhaustSeed = 1

// All lists every schedule of a small scope, those with the fewest steps first: three nodes, two clients, at most one
// fault, and delays that end near the lock's limits. The first client is c1, and faults name n1 before n2, so that no
// two schedules differ only in names.
//   - c1 acquires at once; then it holds the lease, extends it before or after its end, or releases it early or late;
//   - c2 acquires at the same time, during c1's lease, or at its end, and holds or releases its lease;
//   - then no client acquires again, or one of the two does, until after the first lease's end;
//   - a fault begins just before or just after one of these, on one node or a majority.
func (s *Space) All() []*Schedule {
	e := &enumeration{space: s, seen: map[string]bool{}}
	for _, timeout := range []time.Duration{0, s.TTL / 2} {
		lock := scenarios.Lock{NodeTimeout: fixed(timeout)}
		e.limits = s.limits(lock)
		for _, work := range e.works() {
			base := &Schedule{TTL: s.TTL, Nodes: 3, Clients: 2, Persistence: cluster.PersistAlways,
				Lock: lock, Steps: work}
			if s.broken(Memory) {
				base.Persistence = cluster.PersistNone
			}
			if s.broken(Servers) {
				base.Aliases = map[string]string{"n2": "n1"}
			}
			e.add(base)
			for _, f := range e.faults(work) {
				with := base.clone()
				with.Steps = append(with.Steps, f...)
				e.add(with)
			}
		}
	}
	slices.SortStableFunc(e.all, func(a, b *Schedule) int { return cmp.Compare(len(a.Steps), len(b.Steps)) })
	return e.all
}

// Exhaust makes the search run every schedule of its small scope. The error means that the lock is unknown.
func (s *Search) Exhaust() error {
	if err := s.Space.prepare(); err != nil {
		return err
	}
	s.Space.Exhaust = true
	s.Schedules = len(s.Space.All())
	return nil
}

// enumeration collects distinct schedules.
type enumeration struct {
	space  *Space
	limits limits
	seen   map[string]bool
	all    []*Schedule
}

func (e *enumeration) add(s *Schedule) {
	s.normalize()
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // names and numbers can always be marshalled
	}
	if !e.seen[string(text)] {
		e.seen[string(text)] = true
		e.all = append(e.all, s)
	}
}

// works lists the clients' sequences of operations.
func (e *enumeration) works() [][]Step {
	ttl, soon := e.space.TTL, e.space.TTL/timeSteps*20
	const first, second = "c1", "c2"
	firsts := [][]Step{nil, {operation(scenarios.VerbRelease, first, ttl/4, 0)},
		{operation(scenarios.VerbRelease, first, ttl*5/4, 0)}}
	if e.space.can.Extends {
		firsts = append(firsts, []Step{operation(scenarios.VerbExtend, first, e.limits.validity-soon, 0)},
			[]Step{operation(scenarios.VerbExtend, first, ttl*5/4, 0)})
	}
	var seconds [][]Step
	for _, at := range []time.Duration{0, ttl / 10, ttl} {
		acquire := operation(scenarios.VerbAcquire, second, at, ttl*3/2)
		seconds = append(seconds, []Step{acquire}, []Step{acquire, operation(scenarios.VerbRelease, second, at+ttl/5, 0)})
	}
	lasts := [][]Step{nil, {operation(scenarios.VerbAcquire, first, ttl*13/10, ttl/2)},
		{operation(scenarios.VerbAcquire, second, ttl*3/4, ttl/2)}}
	var all [][]Step
	for _, a := range firsts {
		for _, b := range seconds {
			for _, c := range lasts {
				all = append(all, slices.Concat([]Step{operation(scenarios.VerbAcquire, first, 0, ttl*3/2)}, a, b, c))
			}
		}
	}
	return all
}

// faults lists the faults that can be added to the clients' operations, each as one or two steps.
func (e *enumeration) faults(work []Step) [][]Step {
	var all [][]Step
	add := func(at time.Duration, s scenarios.Step) { all = append(all, []Step{{At: max(0, at), Step: s}}) }
	early := e.space.TTL / timeSteps
	for _, w := range work {
		name := w.Targets[0]
		for _, lasts := range e.faultDurations(w.Verb) {
			span := fixed(lasts)
			for count := 1; count <= 2; count++ {
				for _, held := range intercepts(w, nemesis.Hold, count, lasts) {
					add(w.At-early, held)
				}
				add(w.At-early,
					scenarios.Step{Verb: nemesis.Cut, Targets: linksOf(name, count), Direction: history.Both, For: span})
			}
			add(w.At+early/2, scenarios.Step{Verb: nemesis.Pause, Targets: []string{name}, For: span})
		}
		// Losing a command also loses the rest of its connection; a drop closes the connection.
		for count := 1; count <= 2; count++ {
			for _, verb := range []scenarios.Verb{nemesis.Lose, nemesis.Drop} {
				for _, lost := range intercepts(w, verb, count, e.space.TTL*3/2) {
					add(w.At-early, lost)
				}
			}
		}
		add(w.At+early/2, scenarios.Step{Verb: nemesis.Kill, Targets: []string{name}})
		down := fixed(e.limits.nodeTimeout)
		add(w.At-early, scenarios.Step{Verb: nemesis.Kill, Targets: []string{"n1"}, After: down})
		if e.space.can.OwnClock {
			add(w.At+early/2,
				scenarios.Step{Verb: nemesis.Clock, Targets: []string{name}, Jump: fixed(-e.space.TTL)})
		}
	}
	if e.space.can.OwnClock {
		all = append(all, []Step{
			{Step: scenarios.Step{Verb: nemesis.Clock, Targets: []string{"c1", "c2"}, Rate: 0.995}},
			{Step: scenarios.Step{Verb: nemesis.Clock, Targets: []string{"n1", "n2", "n3"}, Rate: 1.005}}})
	}
	return append(all, e.partitions()...)
}

// intercepts lists the faults of a kind on the commands of an operation and their replies, on the first count links.
func intercepts(op Step, verb scenarios.Verb, count int, lasts time.Duration) []scenarios.Step {
	var all []scenarios.Step
	for _, command := range []string{history.Take, history.Extend, history.Release} {
		for _, part := range []history.Part{history.PartCommand, history.PartReply} {
			if slices.Contains(sends[op.Verb], command) {
				all = append(all, scenarios.Step{Verb: verb, Targets: linksOf(op.Targets[0], count), Of: command,
					Part: part, Times: 1, For: fixed(lasts)})
			}
		}
	}
	return all
}

// faultDurations end a fault on an operation's messages while a reply still counts, after the node timeout, or after
// the TTL.
func (e *enumeration) faultDurations(verb scenarios.Verb) []time.Duration {
	l := e.limits
	if verb != scenarios.VerbAcquire {
		return []time.Duration{l.nodeTimeout * 4 / 5, l.ttl * 3 / 2}
	}
	return []time.Duration{l.nodeTimeout * 4 / 5, l.ttl / 2, l.ttl * 3 / 2}
}

// partitions are those in which each client reaches two nodes, or one client reaches all.
func (e *enumeration) partitions() [][]Step {
	cut := func(links ...string) []Step {
		return []Step{{Step: scenarios.Step{Verb: nemesis.Cut, Targets: links, Direction: history.Both,
			For: fixed(3 * e.space.TTL)}}}
	}
	return [][]Step{cut("c1-n1"), cut("c2-n1"), cut("c1-n1", "c2-n1"), cut("c1-n1", "c2-n2")}
}

// linksOf lists a client's links to the first count nodes.
func linksOf(name string, count int) []string {
	var links []string
	for i := range count {
		links = append(links, name+"-"+node(i))
	}
	return links
}
