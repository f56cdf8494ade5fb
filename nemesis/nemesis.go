package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"
	"time"

	"lockproof/harness/client"
	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Kind is a kind of fault, named as in scenario files.
type Kind string

// The kinds of faults. Start, Resume, Heal and LetGo end others.
const (
	Kill       Kind = "kill"
	Shutdown   Kind = "shutdown"
	PowerLoss  Kind = "power-loss"
	Start      Kind = "start"
	Pause      Kind = "pause"
	Resume     Kind = "resume"
	Cut        Kind = "cut"
	Heal       Kind = "heal"
	Delay      Kind = "delay"
	Hold       Kind = "hold"
	Lose       Kind = "lose"
	Drop       Kind = "drop"
	LetGo      Kind = "let-go"
	Clock      Kind = "clock"
	Flush      Kind = "flush"
	SlowFsync  Kind = "slow-fsync"
	FailFsync  Kind = "fail-fsync"
	Promote    Kind = "promote"
	FillDisk   Kind = "fill-disk"
	Rewrite    Kind = "rewrite"
	Fill       Kind = "fill"
	Disconnect Kind = "disconnect"
)

// Fault is what is to be done to each of the targets: clients, nodes or links
// (c1-n3). The other fields are for the kinds that need them.
type Fault struct {
	Kind      Kind
	Targets   []string
	Direction cluster.Direction // cut, delay
	By        time.Duration     // delay, slow-fsync
	Jump      time.Duration     // clock
	Rate      float64           // clock; 0: as before
	Command   string            // hold, lose, drop
	Part      cluster.Part      // hold, lose, drop
	Times     int               // hold, lose, drop
	Lasts     time.Duration     // rewrite
	// Setting marks a fault as part of the scenario's setting.
	Setting bool

	since int64 // from when on it may be in effect
}

// Reading is what the clocks of a client or a node showed at a true time.
type Reading struct {
	True, Monotonic, Wall int64
	Rate                  float64
	// Within is how far from True the clock may have been read.
	Within int64
}

// Clients are the clients of a run, as far as a nemesis gets at them.
type Clients interface {
	Pause(name string) error
	Resume(name string) error
	Kill(name string) error
	// LastWord is the true time of the latest event that a client has told of.
	LastWord(name string) int64
	// SetClock changes a client's clocks and reads them afterwards.
	SetClock(ctx context.Context, name string, set client.SetClock) (Reading, error)
}

// Nemesis applies faults to one cluster and its clients, and knows which are in
// effect. Its methods may be called from any goroutine.
type Nemesis struct {
	cluster cluster.Cluster
	clients Clients
	names   map[string]bool // the clients
	record  func(history.Event)

	mu     sync.Mutex
	nextID int
	active []*Active
	rates  map[string]float64 // of the nodes' clocks, where it is not 1
	clocks map[string]Reading // of the nodes, when they were set last
	runIDs map[string]string  // of the nodes, as last seen

	// distances are the delays in effect on each link, added up by direction.
	// Its lock is held while a link changes, which takes no virtual time.
	delaying  sync.Mutex
	distances map[way]time.Duration
}

// Active is a fault in effect on one target.
type Active struct {
	Target string
	id     int
	began  int64
	fault  Fault
	asked  map[string]string
	// end undoes it and proves what it did.
	end func(ctx context.Context) (proof, error)
}

// proof is what was measured of a fault.
type proof struct {
	measured  map[string]string
	effective bool
}

// New makes a nemesis for a cluster and its clients.
func New(c cluster.Cluster, clients Clients, names []string, record func(history.Event)) *Nemesis {
	n := &Nemesis{cluster: c, clients: clients, names: map[string]bool{}, record: record,
		rates: map[string]float64{}, clocks: map[string]Reading{},
		runIDs: map[string]string{}, distances: map[way]time.Duration{}}
	for _, name := range names {
		n.names[name] = true
	}
	return n
}

// Apply does a fault to its targets, in order. The faults that last are
// returned; End undoes them, and so do Apply with the kind that ends them, and
// EndAll.
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
	f.since = n.cluster.Now()
	switch f.Kind {
	case Kill, Shutdown, PowerLoss, Start:
		return nil, n.life(ctx, f, target)
	case Pause:
		return n.pause(ctx, f, target)
	case Cut:
		return n.cut(f, target)
	case Delay:
		return n.delay(f, target)
	case Hold, Lose, Drop:
		return n.intercept(f, target)
	case Clock:
		return nil, n.clock(ctx, f, target)
	case Flush:
		return nil, n.flush(ctx, f, target)
	case Promote:
		return nil, n.promote(ctx, f, target)
	case SlowFsync, FailFsync:
		return n.fsync(f, target)
	case FillDisk:
		return n.fillDisk(ctx, f, target)
	case Rewrite:
		return n.rewrite(ctx, f, target)
	case Disconnect:
		return n.disconnect(ctx, f, target)
	case Fill:
		return n.fill(ctx, f, target)
	case Resume:
		return nil, n.endKinds(ctx, target, Pause)
	case Heal:
		return nil, n.endKinds(ctx, target, Cut, Delay)
	case LetGo:
		return nil, n.endKinds(ctx, target, Hold, Lose, Drop)
	}
	return nil, fmt.Errorf("there is no such fault")
}

// node finds the node that a target names.
func (n *Nemesis) node(target string) (cluster.Node, error) {
	if node := n.cluster.Node(target); node != nil {
		return node, nil
	}
	return nil, fmt.Errorf("there is no client or node %s", target)
}

// server finds the real server that a target names.
func (n *Nemesis) server(target string) (cluster.Server, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	if server, ok := node.(cluster.Server); ok {
		return server, nil
	}
	return nil, fmt.Errorf("the nodes of the %s cluster are no real servers", n.cluster.Kind())
}

// begin records a fault that lasts and keeps it.
func (n *Nemesis) begin(a *Active, p proof) *Active {
	a.began = n.cluster.Now()
	n.mu.Lock()
	n.nextID++
	a.id = n.nextID
	n.active = append(n.active, a)
	n.mu.Unlock()
	n.write(a.id, a.fault, history.PhaseBegin, a.Target, a.asked, p)
	return a
}

// instant records a fault that has no duration.
func (n *Nemesis) instant(f Fault, target string, asked map[string]string, p proof) {
	n.mu.Lock()
	n.nextID++
	id := n.nextID
	n.mu.Unlock()
	n.write(id, f, history.PhaseInstant, target, asked, p)
}

func (n *Nemesis) write(id int, f Fault, phase history.Phase, target string, asked map[string]string, p proof) {
	now := n.cluster.Now()
	fault := &history.Fault{
		ID: id, Kind: string(f.Kind), Phase: phase, Targets: []string{target},
		Asked: asked, Measured: p.measured, Effective: p.effective, Setting: f.Setting,
	}
	if phase != history.PhaseEnd && f.since < now {
		fault.Since = f.since
	}
	n.record(history.Event{Time: now, Process: "nemesis", Type: history.TypeFault, Fault: fault})
}

// End undoes a fault; one that has ended already is left alone.
func (n *Nemesis) End(ctx context.Context, a *Active) error {
	if !n.forget(a) {
		return nil
	}
	p, err := a.end(ctx)
	if err != nil {
		return fmt.Errorf("end of %s %s: %w", a.fault.Kind, a.Target, err)
	}
	n.write(a.id, a.fault, history.PhaseEnd, a.Target, a.asked, p)
	return nil
}

// forget takes a fault off the list of those in effect, and says whether it was
// on it.
func (n *Nemesis) forget(a *Active) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.active, a)
	if i < 0 {
		return false
	}
	n.active = slices.Delete(n.active, i, i+1)
	return true
}

// endKinds ends every fault of some kinds on a target; there must be one.
func (n *Nemesis) endKinds(ctx context.Context, target string, kinds ...Kind) error {
	ending := n.on(target, kinds...)
	if len(ending) == 0 {
		return fmt.Errorf("no %s is in effect on it", kinds[0])
	}
	return n.endEach(ctx, ending)
}

// on lists the faults of some kinds that are in effect on a target.
func (n *Nemesis) on(target string, kinds ...Kind) []*Active {
	return n.inEffect(func(a *Active) bool { return a.Target == target && slices.Contains(kinds, a.fault.Kind) })
}

// EndAll undoes every fault that is still in effect, the last first.
func (n *Nemesis) EndAll(ctx context.Context) error {
	all := n.inEffect(func(*Active) bool { return true })
	sort.SliceStable(all, func(i, j int) bool { return all[i].id > all[j].id })
	return n.endEach(ctx, all)
}

func (n *Nemesis) inEffect(which func(*Active) bool) []*Active {
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

// endEach ends every one of the faults, also when one of them cannot be ended.
func (n *Nemesis) endEach(ctx context.Context, faults []*Active) error {
	var errs []error
	for _, a := range faults {
		errs = append(errs, n.End(ctx, a))
	}
	return errors.Join(errs...)
}
