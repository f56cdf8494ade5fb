// Package nemesis breaks clusters: faults, one kind to a file, and the seeded
// schedule that fires them. A fault proves that it took effect: what was asked
// for and what was measured stand side by side in the history.
package nemesis

import (
	"context"
	"fmt"
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
	Kill      Kind = "kill"
	Shutdown  Kind = "shutdown"
	PowerLoss Kind = "power-loss"
	Start     Kind = "start"
	Pause     Kind = "pause"
	Resume    Kind = "resume"
	Cut       Kind = "cut"
	Heal      Kind = "heal"
	Delay     Kind = "delay"
	Hold      Kind = "hold"
	Lose      Kind = "lose"
	Drop      Kind = "drop"
	LetGo     Kind = "let-go"
	Clock     Kind = "clock"
	Flush     Kind = "flush"
)

// Fault is what is to be done to each of the targets: clients, nodes or links
// (c1-n3). The other fields are for the kinds that need them.
type Fault struct {
	Kind      Kind
	Targets   []string
	Direction cluster.Direction // cut, delay
	By        time.Duration     // delay
	Jump      time.Duration     // clock
	Rate      float64           // clock; 0: as before
	Command   string            // hold, lose, drop
	Part      cluster.Part      // hold, lose, drop
	Times     int               // hold, lose, drop
	// Setting marks a fault as part of the scenario's setting.
	Setting bool
}

// Reading is what a client's clocks showed at a true time.
type Reading struct {
	True, Monotonic, Wall int64
	Rate                  float64
}

// Clients are the clients of a run, as far as a nemesis gets at them.
type Clients interface {
	Pause(name string) error
	Resume(name string) error
	Kill(name string) error
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
}

// Active is a fault in effect on one target.
type Active struct {
	Target string
	id     int
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
	n := &Nemesis{cluster: c, clients: clients, names: map[string]bool{}, record: record, rates: map[string]float64{}}
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
	case Resume:
		return nil, n.endKinds(ctx, target, Pause)
	case Heal:
		return nil, n.endKinds(ctx, target, Cut, Delay)
	case LetGo:
		return nil, n.endKinds(ctx, target, Hold, Lose, Drop)
	}
	return nil, fmt.Errorf("there is no such fault")
}

// begin records a fault that lasts and keeps it.
func (n *Nemesis) begin(a *Active, p proof) *Active {
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
	n.record(history.Event{Time: n.cluster.Now(), Process: "nemesis", Type: history.TypeFault, Fault: &history.Fault{
		ID: id, Kind: string(f.Kind), Phase: phase, Targets: []string{target},
		Asked: asked, Measured: p.measured, Effective: p.effective, Setting: f.Setting,
	}})
}

// End undoes a fault; one that has ended already is left alone.
func (n *Nemesis) End(ctx context.Context, a *Active) error {
	n.mu.Lock()
	found := false
	for i, other := range n.active {
		if other == a {
			n.active = append(n.active[:i:i], n.active[i+1:]...)
			found = true
			break
		}
	}
	n.mu.Unlock()
	if !found {
		return nil
	}
	p, err := a.end(ctx)
	if err != nil {
		return fmt.Errorf("end of %s %s: %w", a.fault.Kind, a.Target, err)
	}
	n.write(a.id, a.fault, history.PhaseEnd, a.Target, a.asked, p)
	return nil
}

// endKinds ends every fault of some kinds on a target; there must be one.
func (n *Nemesis) endKinds(ctx context.Context, target string, kinds ...Kind) error {
	ending := n.inEffect(func(a *Active) bool {
		for _, k := range kinds {
			if a.fault.Kind == k && a.Target == target {
				return true
			}
		}
		return false
	})
	if len(ending) == 0 {
		return fmt.Errorf("no %s is in effect on it", kinds[0])
	}
	return n.endEach(ctx, ending)
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

func (n *Nemesis) endEach(ctx context.Context, faults []*Active) error {
	for _, a := range faults {
		if err := n.End(ctx, a); err != nil {
			return err
		}
	}
	return nil
}
