package reports

import (
	"cmp"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// State is the state of a client or of a node's key in a stretch of time.
type State int

// The states, in drawing order: later ones cover earlier ones. Paused covers Down because a paused node also looks
// down.
const (
	Idle State = iota
	Acquiring
	Using // the store, from a write's call to its outcome
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
	Owner       string // the client of a key or call; "" if unknown
}

// Lane is one client, one node or the store over time. Later stretches cover earlier ones.
type Lane struct {
	Name      string
	Stretches []Stretch
	Points    []Point
}

// Mark is one turn of the story: a sentence without its time.
type Mark struct {
	Time int64
	// Event is the index of the event in the history; NoEvent if the time alone caused the turn, as when a key expires.
	Event   int
	Process string // the affected client, node or store
	Text    string
	// Turning marks the point of no return.
	Turning bool
}

// NoEvent stands for the absence of an event.
const NoEvent = -1

// Story is what happened to one key around one violation, or in a whole history: the leases of clients and the owners
// of the key on each node.
type Story struct {
	Key         string
	From, Until int64
	End         int64    // of the whole history
	AllClients  []string // in the order of the run
	Clients     []Lane   // the drawn clients
	Nodes       []Lane
	Store       Lane // empty if unused
	Faults      []Band
	Marks       []Mark
	// Omitted counts the turns that were left out to keep the story short.
	Omitted int
	// Settings describe the scenario's background faults: cut and slow links.
	Settings []string
	// Broken is when the property was violated; nil for a story without a violation.
	Broken *Stretch
}

// maxClients bounds the clients of a story. The violation's clients come first.
const maxClients = 8

// Tell makes the story of a violation, or of the whole history if v is nil.
func (h *History) Tell(v *checker.Violation) Story {
	s := Story{Key: h.storyKey(v), AllClients: h.header.Clients}
	t := &storyBuilder{Story: &s, History: h, violation: v, lanes: map[string]*Lane{}, open: map[openState]int{},
		invokes: map[string]history.Event{}, started: map[string]int64{}}
	if h.History != nil {
		t.lost = h.LostUpdates(s.Key)
	}
	t.window()
	if v != nil {
		s.Broken = &Stretch{From: v.From, Until: v.Until}
	}
	for i, e := range h.Events {
		t.addEvent(i, e)
	}
	t.drawLeases()
	for _, name := range t.participants() {
		s.Clients = append(s.Clients, *t.lane(name))
	}
	for _, name := range h.header.Servers() {
		s.Nodes = append(s.Nodes, *t.lane(name))
	}
	s.Store = *t.lane(history.StoreName)
	t.joinBands()
	s.Settings = settings(t.background, h.header)
	s.Marks, s.Omitted = t.turns()
	return s
}

// storyBuilder makes a story of a history in one pass over the events.
type storyBuilder struct {
	*Story
	*History
	violation  *checker.Violation // nil: the story of the whole history
	lost       []checker.LostUpdate
	lanes      map[string]*Lane
	open       map[openState]int        // index into the lane's stretches
	invokes    map[string]history.Event // by call
	acquirers  []string                 // clients with an acquire of the key in the window
	background []history.Fault          // from the scenario's set-up
	started    map[string]int64         // last start of each node
	found      []turn
}

// openState is a current state of a lane. A call also has a client, since a store may serve several calls at once.
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

// window sets the time of the story: everything that led to the violation or followed from it, with a margin at both
// ends.
func (t *storyBuilder) window() {
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

func (t *storyBuilder) within(at int64) bool { return t.From <= at && at <= t.Until }

// participants are the drawn clients, in the run's order: the violation's clients first, then others that acquired or
// held the key meanwhile.
func (t *storyBuilder) participants() []string {
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
	for _, name := range append(names, t.acquirers...) {
		if len(chosen) < maxClients && slices.Contains(t.AllClients, name) && !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	slices.SortFunc(chosen, func(a, b string) int {
		return cmp.Compare(slices.Index(t.AllClients, a), slices.Index(t.AllClients, b))
	})
	return chosen
}

// addEvent draws an event and adds it to the story's turns.
func (t *storyBuilder) addEvent(i int, e history.Event) {
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
		t.set(openState{e.Process, Acquiring, e.Process, e.ID}, e.Type == history.TypeInvoke, e.Time)
		if e.Key == t.Key && t.within(e.Time) {
			t.acquirers = append(t.acquirers, e.Process)
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
		t.addTurn(i, e, t.invokes[call(e)])
	}
	if e.Type == history.TypeFault && e.Fault != nil && e.Fault.Class == history.NodeUp {
		t.started[list(e.Fault.Targets)] = e.Time
	}
}

func (t *storyBuilder) lane(name string) *Lane {
	if t.lanes[name] == nil {
		t.lanes[name] = &Lane{Name: name}
	}
	return t.lanes[name]
}

func (t *storyBuilder) point(lane string, p Point) {
	t.lane(lane).Points = append(t.lane(lane).Points, p)
}

// set begins or ends a state of a lane.
func (t *storyBuilder) set(s openState, on bool, now int64) {
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

// drawLeases draws the clients' leases and the nodes' owners of the key.
func (t *storyBuilder) drawLeases() {
	for _, l := range t.leases {
		if l.Key == t.Key {
			lane := t.lane(l.Client)
			lane.Stretches = append(lane.Stretches, Stretch{From: l.From, Until: l.Until, State: Holding})
			lane.Points = append(lane.Points, leaseEnd(l))
		}
	}
	for _, owned := range t.ownerships {
		if owned.Key == t.Key {
			lane := t.lane(owned.Node)
			lane.Stretches = append(lane.Stretches, Stretch{owned.From, owned.Until, Owned, owned.Owner})
		}
	}
	for _, l := range t.lanes {
		slices.SortStableFunc(l.Stretches, func(a, b Stretch) int { return cmp.Compare(a.State, b.State) })
	}
}
