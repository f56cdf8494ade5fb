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
	Owner       string // of a key: the client; "" if nobody knows
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
	events, leases := h.Events, h.leases
	s := Story{Key: storyKey(leases, v), Everyone: clientsOf(events)}
	s.window(events, v)
	if v != nil {
		s.Broken = &Stretch{From: v.From, Until: v.Until}
	}
	for _, name := range s.participants(events, leases, v) {
		s.Clients = append(s.Clients, s.clientLane(name, events, leases))
	}
	for _, name := range nodesOf(events) {
		s.Nodes = append(s.Nodes, s.nodeLane(name, events, h.tenures))
	}
	lost := h.lostUpdates(s.Key)
	s.Store = s.storeLane(events, lost)
	s.Faults = bands(events, s.Until)
	s.Settings = settings(events)
	s.Marks, s.Omitted = s.turns(h, lost, v)
	return s
}

func storyKey(leases []checker.Lease, v *checker.Violation) string {
	if v != nil && v.Key != "" {
		return v.Key
	}
	if len(leases) > 0 {
		return leases[0].Key
	}
	return ""
}

// window is the stretch that the story is about: all that led to the
// violation and came of it, with a margin at both ends.
func (s *Story) window(events []history.Event, v *checker.Violation) {
	end := int64(0)
	for _, e := range events {
		end = max(end, e.Time)
	}
	s.Until = max(end, 1)
	if v == nil {
		return
	}
	from, until := v.From, v.Until
	if h := headerOf(events); h != nil {
		for _, f := range v.Facts {
			from = min(from, max(f.Time, from-2*h.TTL))
		}
	}
	for _, l := range v.Leases {
		from, until = min(from, l.Asked), max(until, l.Until)
	}
	margin := (until - from) / 12
	if h := headerOf(events); h != nil {
		margin = max(margin, h.TTL/8)
	}
	s.From = max(0, from-margin)
	s.Until = max(min(until+margin, end), s.From+1)
}

// participants are the clients to draw, in the run's order: the violation's own, then
// others that asked for or held the key meanwhile.
func (s *Story) participants(events []history.Event, leases []checker.Lease, v *checker.Violation) []string {
	var chosen []string
	choose := func(name string) {
		if len(chosen) < maxClients && slices.Contains(s.Everyone, name) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	if v != nil {
		for _, p := range v.Processes {
			choose(p)
		}
	}
	for _, l := range leases {
		if l.Key == s.Key && l.Until >= s.From && l.Asked <= s.Until {
			choose(l.Client)
		}
	}
	for _, e := range events {
		if e.Op == history.OpAcquire && e.Key == s.Key && e.Time >= s.From && e.Time <= s.Until {
			choose(e.Process)
		}
	}
	slices.SortFunc(chosen, func(a, b string) int {
		return cmp.Compare(slices.Index(s.Everyone, a), slices.Index(s.Everyone, b))
	})
	return chosen
}

func (s *Story) clientLane(name string, events []history.Event, leases []checker.Lease) Lane {
	lane := Lane{Name: name, Stretches: s.asking(name, events), Points: clockPoints(name, events)}
	for _, l := range leases {
		if l.Client == name && l.Key == s.Key {
			lane.Stretches = append(lane.Stretches, Stretch{From: l.From, Until: l.Until, State: Holding})
			lane.Points = append(lane.Points, leaseEnd(l))
		}
	}
	lane.Stretches = append(lane.Stretches, s.faultsOn(name, events)...)
	return lane
}

// asking are the stretches from each acquire's call to its outcome.
func (s *Story) asking(name string, events []history.Event) []Stretch {
	var all []Stretch
	open := map[int]int{} // operation to its place in all
	for _, e := range events {
		if e.Process != name || e.Op != history.OpAcquire {
			continue
		}
		if e.Type == history.TypeInvoke && e.Key == s.Key {
			open[e.ID] = len(all)
			all = append(all, Stretch{From: e.Time, Until: s.Until, State: Asking})
		} else if i, ok := open[e.ID]; ok && e.Type != history.TypeInvoke {
			all[i].Until = e.Time
			delete(open, e.ID)
		}
	}
	return all
}

func (s *Story) nodeLane(name string, events []history.Event, tenures []checker.Tenure) Lane {
	lane := Lane{Name: name, Points: clockPoints(name, events)}
	for _, t := range tenures {
		if t.Node == name && t.Key == s.Key {
			lane.Stretches = append(lane.Stretches, Stretch{From: t.From, Until: t.Until, State: Owned, Owner: t.Owner})
		}
	}
	lane.Stretches = append(lane.Stretches, s.faultsOn(name, events)...)
	return lane
}

// faultsOn are the stretches for which a process was down, then those for
// which it was paused: a look at a paused node says that it is not up, and the
// pause is the better word.
func (s *Story) faultsOn(name string, events []history.Event) []Stretch {
	down := s.between(events, Down,
		func(e history.Event) bool {
			return isFault(e, name, history.PhaseBegin, history.NodeDown, history.ClientKilled) ||
				e.Type == history.TypeNode && e.Process == name && e.Node != nil && !e.Node.Up
		},
		func(e history.Event) bool {
			return isFault(e, name, history.PhaseEnd, history.NodeDown, history.ClientKilled) ||
				isFault(e, name, history.PhaseBegin, history.NodeUp) ||
				e.Type == history.TypeNode && e.Process == name && e.Node != nil && e.Node.Up
		})
	paused := s.between(events, Paused,
		func(e history.Event) bool {
			return isFault(e, name, history.PhaseBegin, history.NodePaused, history.ClientPaused)
		},
		func(e history.Event) bool {
			return isFault(e, name, history.PhaseEnd, history.NodePaused, history.ClientPaused) ||
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
func (s *Story) between(events []history.Event, state State, begins, ends func(history.Event) bool) []Stretch {
	var all []Stretch
	open := false
	for _, e := range events {
		switch {
		case !open && begins(e):
			all = append(all, Stretch{From: e.Time, Until: s.Until, State: state})
			open = true
		case open && ends(e):
			all[len(all)-1].Until = e.Time
			open = false
		}
	}
	return all
}

func headerOf(events []history.Event) *history.Header {
	if len(events) == 0 {
		return nil
	}
	return events[0].Header
}

func clientsOf(events []history.Event) []string {
	if h := headerOf(events); h != nil {
		return h.Clients
	}
	return nil
}

func nodesOf(events []history.Event) []string {
	if h := headerOf(events); h != nil {
		return h.Servers()
	}
	return nil
}
