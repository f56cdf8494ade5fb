package checker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"lockproof/harness/history"
)

// run is a history, taken apart once for all properties.
type run struct {
	input    Source
	header   history.Header
	end      int64 // time of the last event
	finished bool  // the history was not cut short
	names    numbering[name]
	texts    numbering[text]
	rare     []rare
	lost     []loss
	strays   []stray
	// commanded are the links on which commands reached a node.
	commanded map[string]bool

	operations operations
	clocks     clocks
	faults     []fault
	kills      map[name][]int64            // by client
	byKey      map[name]*keyed             // whatever was done with it
	keys       []*keyed                    // those that somebody tried to acquire, sorted
	held       pool[holding]               // who owned which key on which node
	prolonged  map[*holding][]prolongation // the extensions that took effect
	counts     counts
	ways       map[name]*way // by client

	// What the blames of several properties share.
	mu       sync.Mutex
	blames   []*Blame
	deleting sync.Once
	deleted  []deletion
	failure  error // of reading them
}

// keyed is what was done with one key.
type keyed struct {
	key      name
	name     string
	acquires []*operation // in the order of their invokes
	stored   []*operation // reads and writes, in the same order
	leases   []lease      // in the order of from
	tenures  []*holding   // in the order of from, but for those that a look found late
}

// key gives what was done with a key.
func (r *run) key(key name) *keyed {
	k := r.byKey[key]
	if k == nil {
		k = &keyed{key: key, name: r.name(key)}
		r.byKey[key] = k
	}
	return k
}

// of gives what was done with the key of that name, which may be nothing.
func (r *run) of(key string) *keyed {
	if k := r.byKey[r.names.find(key)]; k != nil {
		return k
	}
	return &keyed{name: key}
}

func byName(a, b *keyed) int { return strings.Compare(a.name, b.name) }

func (r *run) name(n name) string { return r.names.string(n) }
func (r *run) text(t text) string { return r.texts.string(t) }

// stray is a release of a lease that its client has not been granted.
type stray struct {
	process string
	lease   int
	event   int
}

// loss is a client's being told that it lost a lease.
type loss struct {
	process string
	lease   int
	time    int64
	event   int
}

// readBeliefs goes through the history up to the leases.
func (r *run) readBeliefs() error {
	if err := r.read(); err != nil {
		return err
	}
	for _, f := range r.faults {
		if f.class == history.ClientKilled {
			client := r.names.of(f.target)
			r.kills[client] = append(r.kills[client], f.from)
		}
	}
	r.sortOperations()
	return r.readLeases()
}

// readRest reads who owned which key on which node, and counts.
func (r *run) readRest() error {
	if err := r.readTimeline(); err != nil {
		return err
	}
	r.ways = r.readWays()
	r.counts = r.count()
	return nil
}

func newRun(source Source) *run {
	r := &run{
		input: source, commanded: map[string]bool{}, kills: map[name][]int64{}, byKey: map[name]*keyed{},
		names:     newNames(),
		texts:     numberingOf[text](),
		prolonged: map[*holding][]prolongation{},
	}
	r.operations.names, r.operations.texts = &r.names, &r.texts
	return r
}

// read goes through the history for all but the timeline, which needs to know
// the clocks first.
func (r *run) read() error {
	clocks, faults := newClocks(), faultReader{}
	index, link := 0, ""
	err := r.input(func(e *history.Event) error {
		i := index
		index++
		if err := r.inOrder(i, e); err != nil {
			return err
		}
		r.end = e.Time
		switch e.Type {
		case history.TypeInvoke:
			if e.Op == history.OpRelease {
				r.release(i, e)
			}
			return r.operations.invoke(i, e)
		case history.TypeOK, history.TypeFail, history.TypeInfo:
			return r.outcome(i, e)
		case history.TypeCommand:
			if e.Process != link {
				link = e.Process
				r.commanded[link] = true
			}
			return nil
		case history.TypeReply:
			return nil
		case history.TypeLost:
			r.lost = append(r.lost, loss{e.Process, e.Lease, e.Time, i})
			return nil
		case history.TypeEnd: // what a client still had to say may come after it
			r.finished = true
		case history.TypeClock:
			if err := clocks.read(r.header, r.names.of(e.Process), i, e); err != nil {
				return err
			}
		}
		r.rare = append(r.rare, rare{i, *e})
		return faults.read(i, e)
	})
	if err == nil && index == 0 {
		err = errNoHeader
	}
	r.clocks, r.faults = clocks, faults.until(r.end)
	return err
}

// outcome ends an operation. Who is told by an extension that the lease is lost
// has been told.
func (r *run) outcome(i int, e *history.Event) error {
	if err := r.operations.outcome(i, e); err != nil {
		return err
	}
	if e.Op == history.OpExtend && e.Type == history.TypeFail && e.Reason == history.ReasonLost {
		o := r.operations.find(r.names.of(e.Process), e.ID)
		r.lost = append(r.lost, loss{e.Process, o.lease, e.Time, i})
	}
	return nil
}

var errNoHeader = errors.New("the history has no header: its first event must be of type header and hold one")

// inOrder requires that the header comes first and alone, and that no event is
// earlier than the one before it.
func (r *run) inOrder(i int, e *history.Event) error {
	switch {
	case i == 0 && (e.Type != history.TypeHeader || e.Header == nil):
		return errNoHeader
	case i == 0:
		r.header = *e.Header
	case e.Time < r.end:
		return fmt.Errorf("event %d is at %d ns, before event %d at %d ns: sort the history by time, as history.Read does",
			i, e.Time, i-1, r.end)
	case e.Type == history.TypeHeader:
		return fmt.Errorf("event %d is a second header: a history holds one run", i)
	}
	return nil
}

// sortOperations ends those that have no outcome and groups them by key.
func (r *run) sortOperations() {
	for o := range r.operations.kept.all() {
		if o.outcome == underWay {
			o.done = r.end
			if t, killed := r.killed(o.process, o.asked); killed { // a killed client waits no longer
				o.done = t
			}
		}
		switch k := r.key(o.key); {
		case o.op == opAcquire:
			if len(k.acquires) == 0 {
				r.keys = append(r.keys, k)
			}
			k.acquires = append(k.acquires, o)
		case o.stored():
			k.stored = append(k.stored, o)
		}
	}
	slices.SortFunc(r.keys, byName)
}

// majority is how many nodes a grant needs.
func (r *run) majority() int { return len(r.header.Nodes)/2 + 1 }

// off reports whether a rule was switched off in this run.
func (r *run) off(rule string) bool { return slices.Contains(r.header.Without, rule) }
