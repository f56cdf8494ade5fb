package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// Fault is a fault to apply to each of its targets: clients, nodes or links (c1-n3). Other fields belong to some kinds.
type Fault struct {
	Kind      string
	Targets   []string
	Direction history.Direction // cut, delay
	Delay     time.Duration     // delay, slow-fsync
	Jump      time.Duration     // clock
	Rate      float64           // clock; 0: as before
	Key       string            // delete-key, migrate-slot
	To        string            // migrate-slot
	Mistake   string            // migrate-slot
	Command   string            // hold, lose, drop
	Part      history.Part      // hold, lose, drop
	Count     int               // hold, lose, drop
	Duration  time.Duration     // rewrite
	// Background marks a fault of the scenario's set-up.
	Background bool

	random       bool  // by a schedule
	startedAfter int64 // earliest time of its effect
}

// Reading is a reading of a client's or a node's clocks at a true time.
type Reading struct {
	True, Wall int64
	Rate       float64
	// Uncertainty bounds the difference between True and the time of the read.
	Uncertainty int64
}

// ClientControl controls the clients of a run for a nemesis.
type ClientControl interface {
	Pause(name string) error
	Resume(name string) error
	Kill(name string) error
	// LastEventTime is the true time of a client's latest event.
	LastEventTime(name string) int64
	// SetClock makes a client's wall clock jump, sets the rate of its clocks (0 keeps it), and reads them afterwards.
	SetClock(ctx context.Context, name string, jump time.Duration, rate float64) (Reading, error)
	// Starve stops the timers of a client's lock. Feed resumes them, and returns their lateness.
	Starve(ctx context.Context, name string) error
	Feed(ctx context.Context, name string) (cluster.Late, error)
}

// Nemesis applies faults to one cluster and its clients, and keeps the active ones. Its methods are safe for concurrent
// use.
type Nemesis struct {
	cluster     cluster.Cluster
	clients     ClientControl
	clientNames map[string]bool
	record      func(history.Event)

	mu     sync.Mutex
	nextID int
	active []*Active
	clocks map[string]Reading // of the nodes, after their last change
	runIDs map[string]string  // of the nodes, as last seen
}

// Active is a fault in effect on one target.
type Active struct {
	Target string
	id     int
	began  int64
	fault  Fault
	asked  history.Asked
	// end undoes it and returns its proof.
	end func(ctx context.Context) (proof, error)
	// ended, unless nil, records the state after its end.
	ended func(ctx context.Context) error
}

// proof has a fault's measured values, whether they match the request, and the number of affected things, if counted.
type proof struct {
	measured  map[string]string
	effective bool
	affected  *int
	sentAt    []int64
	since     int64 // the earliest time of an end's effect; 0: its event's
}

// New makes a nemesis for a cluster and its clients.
func New(c cluster.Cluster, clients ClientControl, names []string, record func(history.Event)) *Nemesis {
	n := &Nemesis{cluster: c, clients: clients, clientNames: map[string]bool{}, record: record,
		clocks: map[string]Reading{},
		runIDs: map[string]string{}}
	for _, name := range names {
		n.clientNames[name] = true
	}
	return n
}

// Apply applies a fault to its targets, in order, and returns the active ones. End ends them, as do EndAll and Apply
// with the kind that ends them.
func (n *Nemesis) Apply(ctx context.Context, f Fault) ([]*Active, error) {
	var begun []*Active
	for _, target := range f.Targets {
		a, err := n.apply(ctx, f, target)
		if err != nil {
			return begun, fmt.Errorf("%s %s: %w", f.Kind, target, err)
		}
		if a != nil {
			begun = append(begun, a)
		}
	}
	return begun, nil
}

func (n *Nemesis) apply(ctx context.Context, f Fault, target string) (*Active, error) {
	d := Find(f.Kind)
	switch {
	case d == nil:
		return nil, errors.New("unknown fault")
	case d.effectOn(target, n.clientNames[target]) == nil:
		return nil, fmt.Errorf("invalid target: want %s", d.Targets())
	case d.Link == nil && len(n.activeOn(target, f.Kind)) > 0: // faults on a link add up
		return nil, errors.New("already in effect")
	}
	f.startedAfter = n.cluster.Now()
	return d.apply(n, ctx, f, target)
}

// class is the class of a kind's effect on a target.
func (n *Nemesis) class(kind, target string) history.Class {
	return Find(kind).effectOn(target, n.clientNames[target]).Class
}

func (n *Nemesis) node(target string) (cluster.Node, error) {
	if node := n.cluster.Node(target); node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("unknown client or node %s", target)
}

// nodeAs finds a node with an ability that not every cluster has.
func nodeAs[T cluster.Node](n *Nemesis, target string, needs *cluster.Ability) (able T, err error) {
	node, err := n.node(target)
	if err != nil {
		return able, err
	}
	able, ok := node.(T)
	if !ok {
		return able, &cluster.Unsupported{Cluster: n.cluster.Kind(), Needs: needs}
	}
	return able, nil
}

func (n *Nemesis) server(target string) (cluster.Server, error) {
	return nodeAs[cluster.Server](n, target, cluster.AbilityServer)
}

// begin records and keeps an active fault.
func (n *Nemesis) begin(a *Active, p proof) *Active {
	a.began = n.cluster.Now()
	n.mu.Lock()
	n.nextID++
	a.id = n.nextID
	n.active = append(n.active, a)
	n.mu.Unlock()
	n.recordFault(a.id, a.fault, history.PhaseBegin, a.Target, a.asked, p)
	return a
}

// lasted is the duration of a fault so far.
func (n *Nemesis) lasted(a *Active) time.Duration { return time.Duration(n.cluster.Now() - a.began) }

// recordInstant records a fault without a duration.
func (n *Nemesis) recordInstant(f Fault, target string, asked history.Asked, p proof) {
	n.mu.Lock()
	n.nextID++
	id := n.nextID
	n.mu.Unlock()
	n.recordFault(id, f, history.PhaseInstant, target, asked, p)
}

func (n *Nemesis) recordFault(id int, f Fault, phase history.Phase, target string, asked history.Asked, p proof) {
	now := n.cluster.Now()
	fault := &history.Fault{
		ID: id, Kind: f.Kind, Class: n.class(f.Kind, target), Phase: phase, Targets: []string{target},
		Asked: asked, Measured: p.measured, Effective: p.effective, Affected: p.affected, SentAt: p.sentAt,
		Count: f.Count, Background: f.Background, Random: f.random, Since: p.since,
	}
	if fault.Class == history.LinkSlow {
		fault.Delay = int64(f.Delay)
	}
	if phase != history.PhaseEnd {
		fault.Past = Find(f.Kind).Words.Past
		if f.startedAfter < now {
			fault.Since = f.startedAfter
		}
	}
	n.record(history.Event{Time: now, Process: "nemesis", Type: history.TypeFault, Fault: fault})
}

// End ends a fault, unless it has ended already.
func (n *Nemesis) End(ctx context.Context, a *Active) error {
	if !n.remove(a) {
		return nil
	}
	p, err := a.end(ctx)
	if err != nil {
		return fmt.Errorf("end of %s %s: %w", a.fault.Kind, a.Target, err)
	}
	n.recordFault(a.id, a.fault, history.PhaseEnd, a.Target, a.asked, p)
	if a.ended != nil {
		return a.ended(ctx)
	}
	return nil
}

// remove removes a fault from the active ones, and reports whether it was active.
func (n *Nemesis) remove(a *Active) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.active, a)
	if i < 0 {
		return false
	}
	n.active = slices.Delete(n.active, i, i+1)
	return true
}

// activeOn lists the active faults of some kinds on a target.
func (n *Nemesis) activeOn(target string, kinds ...string) []*Active {
	return n.activeWhere(func(a *Active) bool { return a.Target == target && slices.Contains(kinds, a.fault.Kind) })
}

// EndAll ends every active fault, the last first.
func (n *Nemesis) EndAll(ctx context.Context) error {
	all := n.activeWhere(func(*Active) bool { return true })
	slices.SortFunc(all, func(a, b *Active) int { return b.id - a.id })
	return n.endFaults(ctx, all)
}

func (n *Nemesis) activeWhere(which func(*Active) bool) []*Active {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []*Active
	for _, a := range n.active {
		if which(a) {
			found = append(found, a)
		}
	}
	return found
}

// endFaults ends all faults, even if the end of one fails.
func (n *Nemesis) endFaults(ctx context.Context, faults []*Active) error {
	var errs []error
	for _, a := range faults {
		errs = append(errs, n.End(ctx, a))
	}
	return errors.Join(errs...)
}
