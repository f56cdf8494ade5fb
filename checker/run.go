package checker

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"lockproof/harness/history"
)

// run is a history, taken apart once for all properties.
type run struct {
	input    Source
	header   history.Header
	end      int64 // time of the last event
	finished bool  // the history was not cut short
	names    names
	rare     []rare
	lost     []loss
	strays   []stray
	// commanded are the links on which commands reached a node.
	commanded map[string]bool

	operations operations
	acquires   map[string][]*operation // by key, in the order of their invokes
	clocks     clocks
	faults     []fault
	kills      map[string][]int64    // by client
	leases     map[string][]Lease    // by key, in the order of From
	keys       []string              // all keys that somebody tried to acquire, sorted
	held       []*holding            // who owned which key on which node
	tenures    map[string][]*holding // the same, by key
	counts     counts
	ways       map[string]*way // by client

	// What the blames of several properties share.
	mu       sync.Mutex
	blames   []*Blame
	deleting sync.Once
	deleted  []deletion
	failure  error // of reading them
}

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

// digest takes a history apart, or says what is wrong with it.
func digest(source Source) (*run, error) {
	r := &run{input: source, names: names{}, commanded: map[string]bool{}, operations: newOperations()}
	if err := r.read(); err != nil {
		return nil, err
	}
	r.kills = map[string][]int64{}
	for _, f := range r.faults {
		if f.kind == "kill" {
			r.kills[f.target] = append(r.kills[f.target], f.from)
		}
	}
	for _, o := range r.operations.all {
		if o.outcome != "" {
			continue
		}
		o.done = r.end
		if t, killed := r.killed(o.Process, o.asked); killed { // a killed client waits no longer
			o.done = t
		}
	}
	r.sortAcquires()
	if err := r.readLeases(); err != nil {
		return nil, err
	}
	if err := r.readTimeline(); err != nil {
		return nil, err
	}
	r.tenures = map[string][]*holding{}
	for _, h := range r.held {
		r.tenures[h.Key] = append(r.tenures[h.Key], h)
	}
	r.ways = r.readWays()
	r.counts = r.count()
	return r, nil
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
			return r.operations.invoke(i, e, r.names)
		case history.TypeOK, history.TypeFail, history.TypeInfo:
			return r.operations.outcome(i, e, r.names)
		case history.TypeCommand:
			if e.Process != link {
				link = e.Process
				r.commanded[link] = true
			}
			return nil
		case history.TypeReply:
			return nil
		case history.TypeLost:
			r.lost = append(r.lost, loss{r.names.one(e.Process), e.Lease, e.Time, i})
			return nil
		case history.TypeEnd: // what a client still had to say may come after it
			r.finished = true
		case history.TypeClock:
			if err := clocks.read(r.header, i, e); err != nil {
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

// sortAcquires groups the acquires by key.
func (r *run) sortAcquires() {
	r.acquires = map[string][]*operation{}
	for _, o := range r.operations.all {
		if o.Op == history.OpAcquire {
			r.acquires[o.Key] = append(r.acquires[o.Key], o)
		}
	}
	for key := range r.acquires {
		r.keys = append(r.keys, key)
	}
	sort.Strings(r.keys)
}

// majority is how many nodes a grant needs.
func (r *run) majority() int { return len(r.header.Nodes)/2 + 1 }

// off reports whether a rule was switched off in this run.
func (r *run) off(rule string) bool { return slices.Contains(r.header.Without, rule) }
