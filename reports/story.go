package reports

import (
	"cmp"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// State is what a client or a node's key is doing for a stretch of time.
type State int

// The states. A client asks, holds, is paused or has died; a node's key is
// owned, and a node may be paused or down.
const (
	Idle State = iota
	Asking
	Holding
	HoldingPaused
	Owned
	Paused
	Down
	Using // the store: from the call of a write to its outcome
)

// Stretch is one state from From to Until, in nanoseconds of the history.
type Stretch struct {
	From, Until int64
	State       State
	Owner       string // of a key or a call: the client; "" if nobody knows
}

// Lane is one client or node, or the store, over time. Later stretches cover
// earlier ones.
type Lane struct {
	Name      string
	Stretches []Stretch
	Points    []Point
}

// Mark is one turn of the story, told in a sentence without its time.
type Mark struct {
	Time int64
	// Event is the index of its event in the history; NoEvent where time alone
	// did it, as when a key expires.
	Event   int
	Process string // the client, node or store to which it happened
	Text    string
	// Turning marks the first turn after the point of no return.
	Turning bool
}

// NoEvent is the index of what no event of the history says by itself.
const NoEvent = -1

// Story is what happened to one key around one violation, or in a whole
// history: who believed to hold the lock, and who owned the key on which node.
type Story struct {
	Key         string
	From, Until int64
	Everyone    []string // all clients of the run, in its order
	Clients     []Lane   // those that are drawn
	Nodes       []Lane
	Store       *Lane // nil if nobody used it
	Faults      []Band
	Marks       []Mark
	// Omitted is how many turns are not told, for the story to stay short.
	Omitted int
	// Settings are the faults that are part of the scenario's setting: who
	// reaches whom, who is far away.
	Settings []string
	// Broken is when the property was violated; nil if the story is of none.
	Broken *Stretch
}

// maxClients is how many clients a story shows: those that took part in the
// violation first.
const maxClients = 8

// Tell makes the story of a violation, or of the whole history if it is nil.
func (h *History) Tell(v *checker.Violation) Story {
	s := Story{Key: h.storyKey(v), Everyone: h.header.Clients}
	t := &teller{Story: &s, History: h, violation: v}
	if h.History != nil {
		t.lost = h.LostUpdates(s.Key)
	}
	t.window()
	if v != nil {
		s.Broken = &Stretch{From: v.From, Until: v.Until}
	}
	for _, name := range t.participants() {
		s.Clients = append(s.Clients, t.clientLane(name))
	}
	for _, name := range h.header.Servers() {
		s.Nodes = append(s.Nodes, t.nodeLane(name))
	}
	s.Store = t.storeLane()
	s.Faults = bands(h.Events, s.Until)
	s.Settings = settings(h.Events, h.header)
	s.Marks, s.Omitted = t.turns()
	return s
}

// teller makes a story out of a history.
type teller struct {
	*Story
	*History
	violation *checker.Violation // nil: the whole history is told
	lost      []checker.LostUpdate
	found     []turn
}

func (h *History) storyKey(v *checker.Violation) string {
	if v != nil && v.Key != "" {
		return v.Key
	}
	if len(h.leases) > 0 {
		return h.leases[0].Key
	}
	return ""
}

// window is the stretch that the story is about: all that led to the
// violation and came of it, with a margin at both ends.
func (t *teller) window() {
	end := int64(1) // of the history
	for _, e := range t.Events {
		end = max(end, e.Time)
	}
	t.Until = end
	if t.violation == nil {
		return
	}
	from, until := t.violation.From, t.violation.Until
	for _, f := range t.violation.Facts {
		from = min(from, max(f.Time, from-2*t.header.TTL))
	}
	for _, l := range t.violation.Leases {
		from, until = min(from, l.Asked), max(until, l.Until)
	}
	margin := max((until-from)/12, t.header.TTL/8)
	t.From = max(0, from-margin)
	t.Until = max(min(until+margin, end), t.From+1)
}

// participants are the clients to draw, in the run's order: the violation's own, then
// others that asked for or held the key meanwhile.
func (t *teller) participants() []string {
	var chosen []string
	choose := func(name string) {
		if len(chosen) < maxClients && slices.Contains(t.Everyone, name) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	if t.violation != nil {
		for _, p := range t.violation.Processes {
			choose(p)
		}
	}
	for _, l := range t.leases {
		if l.Key == t.Key && l.Until >= t.From && l.Asked <= t.Until {
			choose(l.Client)
		}
	}
	for _, e := range t.Events {
		if e.Op == history.OpAcquire && e.Key == t.Key && e.Time >= t.From && e.Time <= t.Until {
			choose(e.Process)
		}
	}
	slices.SortFunc(chosen, func(a, b string) int {
		return cmp.Compare(slices.Index(t.Everyone, a), slices.Index(t.Everyone, b))
	})
	return chosen
}

func (t *teller) clientLane(name string) Lane {
	lane := Lane{Name: name, Points: t.clockPoints(name)}
	lane.Stretches = t.calls(Asking, func(e history.Event) bool { return e.Process == name && e.Op == history.OpAcquire })
	for _, l := range t.leases {
		if l.Client == name && l.Key == t.Key {
			lane.Stretches = append(lane.Stretches, Stretch{From: l.From, Until: l.Until, State: Holding})
			lane.Points = append(lane.Points, leaseEnd(l))
		}
	}
	lane.Stretches = append(lane.Stretches, t.faultsOn(name)...)
	return lane
}

// calls are the stretches from each chosen call on the story's key to its outcome.
func (t *teller) calls(state State, chosen func(history.Event) bool) []Stretch {
	var all []Stretch
	open := map[string]int{} // operation to its place in all
	for _, e := range t.Events {
		if !chosen(e) {
			continue
		}
		if e.Type == history.TypeInvoke && e.Key == t.Key {
			open[call(e)] = len(all)
			all = append(all, Stretch{From: e.Time, Until: t.Until, State: state, Owner: e.Process})
		} else if i, ok := open[call(e)]; ok && e.Type != history.TypeInvoke {
			all[i].Until = e.Time
			delete(open, call(e))
		}
	}
	return all
}

func (t *teller) nodeLane(name string) Lane {
	lane := Lane{Name: name, Points: t.clockPoints(name)}
	for _, held := range t.tenures {
		if held.Node == name && held.Key == t.Key {
			lane.Stretches = append(lane.Stretches, Stretch{From: held.From, Until: held.Until, State: Owned, Owner: held.Owner})
		}
	}
	lane.Stretches = append(lane.Stretches, t.faultsOn(name)...)
	return lane
}

// faultsOn are the stretches for which a process was down, then those for
// which it was paused: a look at a paused node says that it is not up, and the
// pause is the better word.
func (t *teller) faultsOn(name string) []Stretch {
	down := t.between(Down, func(e history.Event) (begins, ends bool) {
		if e.Type == history.TypeNode && e.Process == name && e.Node != nil {
			return !e.Node.Up, e.Node.Up
		}
		return isFault(e, name, history.PhaseBegin, history.NodeDown, history.ClientKilled),
			isFault(e, name, history.PhaseEnd, history.NodeDown, history.ClientKilled) ||
				isFault(e, name, history.PhaseBegin, history.NodeUp)
	})
	paused := t.between(Paused, func(e history.Event) (begins, ends bool) {
		return isFault(e, name, history.PhaseBegin, history.NodePaused, history.ClientPaused),
			isFault(e, name, history.PhaseEnd, history.NodePaused, history.ClientPaused) ||
				isFault(e, name, history.PhaseBegin, history.Resumed)
	})
	return append(down, paused...)
}

// isFault reports whether the event is a fault of these classes on the process. An
// instant fault counts as a beginning.
func isFault(e history.Event, process string, phase history.Phase, classes ...history.Class) bool {
	if e.Type != history.TypeFault || e.Fault == nil || !slices.Contains(e.Fault.Targets, process) {
		return false
	}
	got := e.Fault.Phase
	if got == history.PhaseInstant {
		got = history.PhaseBegin
	}
	return got == phase && slices.Contains(classes, e.Fault.Class)
}

// between are the stretches from each event that begins to the next that ends.
func (t *teller) between(state State, turn func(history.Event) (begins, ends bool)) []Stretch {
	var all []Stretch
	open := false
	for _, e := range t.Events {
		switch begins, ends := turn(e); {
		case !open && begins:
			all = append(all, Stretch{From: e.Time, Until: t.Until, State: state})
			open = true
		case open && ends:
			all[len(all)-1].Until = e.Time
			open = false
		}
	}
	return all
}
