package reports

import (
	"cmp"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// State is what a client or a node's key is doing for a stretch of time.
type State int

// The states, in the order in which they cover one another. A client asks, holds, is paused
// or has died; a node's key is owned, and a node may be paused or down. A look at a paused
// node says that it is not up, and the pause is the better word.
const (
	Idle State = iota
	Asking
	Using // the store: from the call of a write to its outcome
	Holding
	HoldingPaused
	Owned
	Down
	Paused
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
	// Turning marks the point of no return.
	Turning bool
}

// NoEvent is the index of what no event of the history says by itself.
const NoEvent = -1

// Story is what happened to one key around one violation, or in a whole
// history: who believed to hold the lock, and who owned the key on which node.
type Story struct {
	Key         string
	From, Until int64
	End         int64    // of the history
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
	t := &teller{Story: &s, History: h, violation: v, lanes: map[string]*Lane{}, open: map[openState]int{},
		invokes: map[string]history.Event{}, started: map[string]int64{}}
	if h.History != nil {
		t.lost = h.LostUpdates(s.Key)
	}
	t.window()
	if v != nil {
		s.Broken = &Stretch{From: v.From, Until: v.Until}
	}
	for i, e := range h.Events {
		t.event(i, e)
	}
	t.keepLeases()
	for _, name := range t.participants() {
		s.Clients = append(s.Clients, *t.lane(name))
	}
	for _, name := range h.header.Servers() {
		s.Nodes = append(s.Nodes, *t.lane(name))
	}
	if s.Store = t.lanes[history.StoreName]; s.Store != nil {
		s.Store.Name = history.StoreName
	}
	t.joinBands()
	s.Settings = settings(t.background, h.header)
	s.Marks, s.Omitted = t.turns()
	return s
}

// teller makes a story out of a history, of which it reads each event once.
type teller struct {
	*Story
	*History
	violation  *checker.Violation // nil: the whole history is told
	lost       []checker.LostUpdate
	lanes      map[string]*Lane
	open       map[openState]int        // to its place among the stretches of its lane
	invokes    map[string]history.Event // by call
	asking     []string                 // who asked for the key within the window
	background []history.Fault          // the scenario's setting
	started    map[string]int64         // when nodes were last started
	found      []turn
}

// openState is a state that a lane is in; that of a call is its client's, of which there may be several at once.
type openState struct {
	lane   string
	state  State
	client string
	call   int
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
	end := int64(1)
	for _, e := range t.Events {
		end = max(end, e.Time)
	}
	t.Until, t.End = end, end
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

func (t *teller) within(at int64) bool { return t.From <= at && at <= t.Until }

// participants are the clients to draw, in the run's order: the violation's own, then
// others that asked for or held the key meanwhile.
func (t *teller) participants() []string {
	var names []string
	if t.violation != nil {
		names = slices.Clone(t.violation.Processes)
	}
	for _, l := range t.leases {
		if l.Key == t.Key && l.Until >= t.From && l.Asked <= t.Until {
			names = append(names, l.Client)
		}
	}
	var chosen []string
	for _, name := range append(names, t.asking...) {
		if len(chosen) < maxClients && slices.Contains(t.Everyone, name) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	slices.SortFunc(chosen, func(a, b string) int {
		return cmp.Compare(slices.Index(t.Everyone, a), slices.Index(t.Everyone, b))
	})
	return chosen
}

// event draws an event, and tells it where it is a turn of the story.
func (t *teller) event(i int, e history.Event) {
	switch {
	case e.Type == history.TypeNode && e.Node != nil:
		t.set(openState{lane: e.Process, state: Down}, !e.Node.Up, e.Time)
	case e.Type == history.TypeClock && e.Clock != nil:
		if skew := skewText(*e.Clock, e.Time); skew != "" {
			t.point(e.Process, Point{Time: e.Time, Kind: PointClock, Text: skew})
		}
	case e.Type == history.TypeFault && e.Fault != nil:
		t.drawFault(e)
	case e.Type == history.TypeInvoke && e.Key != t.Key:
	case e.Op == history.OpAcquire:
		t.set(openState{e.Process, Asking, e.Process, e.ID}, e.Type == history.TypeInvoke, e.Time)
		if e.Key == t.Key && t.within(e.Time) {
			t.asking = append(t.asking, e.Process)
		}
	case (e.Op == history.OpRead || e.Op == history.OpWrite) && e.Key == t.Key:
		t.set(openState{history.StoreName, Using, e.Process, e.ID}, e.Type == history.TypeInvoke, e.Time)
		if e.Type != history.TypeInvoke {
			t.point(history.StoreName, t.storePoint(e))
		}
	}
	if e.Type == history.TypeInvoke {
		t.invokes[call(e)] = e
	}
	if t.within(e.Time) {
		t.tell(i, e, t.invokes[call(e)])
	}
	if e.Type == history.TypeFault && e.Fault != nil && e.Fault.Class == history.NodeUp {
		t.started[list(e.Fault.Targets)] = e.Time
	}
}

func (t *teller) lane(name string) *Lane {
	if t.lanes[name] == nil {
		t.lanes[name] = &Lane{Name: name}
	}
	return t.lanes[name]
}

func (t *teller) point(lane string, p Point) { t.lane(lane).Points = append(t.lane(lane).Points, p) }

// set opens a state of a lane, or closes it.
func (t *teller) set(s openState, on bool, now int64) {
	i, open := t.open[s]
	switch l := t.lane(s.lane); {
	case on && !open:
		t.open[s] = len(l.Stretches)
		l.Stretches = append(l.Stretches, Stretch{From: now, Until: t.Until, State: s.state, Owner: s.client})
	case !on && open:
		l.Stretches[i].Until = now
		delete(t.open, s)
	}
}

// keepLeases draws who believed to hold the key, and whose it was on which node.
func (t *teller) keepLeases() {
	for _, l := range t.leases {
		if l.Key == t.Key {
			lane := t.lane(l.Client)
			lane.Stretches = append(lane.Stretches, Stretch{From: l.From, Until: l.Until, State: Holding})
			lane.Points = append(lane.Points, leaseEnd(l))
		}
	}
	for _, held := range t.tenures {
		if held.Key == t.Key {
			lane := t.lane(held.Node)
			lane.Stretches = append(lane.Stretches, Stretch{From: held.From, Until: held.Until, State: Owned, Owner: held.Owner})
		}
	}
	for _, l := range t.lanes {
		slices.SortStableFunc(l.Stretches, func(a, b Stretch) int { return cmp.Compare(a.State, b.State) })
	}
}
