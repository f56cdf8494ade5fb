package checker

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"lockproof/harness/history"
)

// run is a history, taken apart once for all properties.
type run struct {
	header   history.Header
	events   []history.Event
	end      int64 // time of the last event
	finished bool  // the history was not cut short

	operations []*operation            // in the order of their invokes
	acquires   map[string][]*operation // by key, likewise
	clocks     clocks
	faults     []fault
	kills      map[string][]int64    // by client
	leases     map[string][]Lease    // by key, in the order of From
	keys       []string              // all keys that somebody tried to acquire, sorted
	held       []*holding            // who owned which key on which node
	tenures    map[string][]*holding // the same, by key
	counts     counts
}

// operation is a client's operation with its outcome.
type operation struct {
	history.Event              // the invoke, with what the outcome added
	outcome       history.Type // ok, fail, info; "" while it is under way at the end
	asked         int64        // when it was invoked
	done          int64        // when it ended, or when its client or the history did
	call          int          // the index of the invoke
	end           int          // the index of the outcome, or of the invoke without one
}

func (o *operation) ok() bool { return o.outcome == history.TypeOK }

// digest takes a history apart, or says what is wrong with it.
func digest(events []history.Event) (*run, error) {
	if len(events) == 0 || events[0].Type != history.TypeHeader || events[0].Header == nil {
		return nil, errors.New("the history has no header: its first event must be of type header and hold one")
	}
	r := &run{header: *events[0].Header, events: events, end: events[len(events)-1].Time}
	// What a client still had to say may come after the end line.
	r.finished = slices.ContainsFunc(events, func(e history.Event) bool { return e.Type == history.TypeEnd })
	if err := inOrder(events); err != nil {
		return nil, err
	}
	var err error
	if r.clocks, err = readClocks(r.header, events); err != nil {
		return nil, err
	}
	if r.faults, err = readFaults(events, r.end); err != nil {
		return nil, err
	}
	r.kills = map[string][]int64{}
	for _, f := range r.faults {
		if f.kind == "kill" {
			r.kills[f.target] = append(r.kills[f.target], f.from)
		}
	}
	if err := r.pair(); err != nil {
		return nil, err
	}
	if err := r.readLeases(); err != nil {
		return nil, err
	}
	r.held = r.readTimeline()
	r.tenures = map[string][]*holding{}
	for _, h := range r.held {
		r.tenures[h.Key] = append(r.tenures[h.Key], h)
	}
	r.counts = r.count()
	return r, nil
}

// inOrder requires that no event is earlier than the one before it.
func inOrder(events []history.Event) error {
	for i := 1; i < len(events); i++ {
		if events[i].Time < events[i-1].Time {
			return fmt.Errorf("event %d is at %d ns, before event %d at %d ns: sort the history by time, as history.Read does",
				i, events[i].Time, i-1, events[i-1].Time)
		}
		if events[i].Type == history.TypeHeader {
			return fmt.Errorf("event %d is a second header: a history holds one run", i)
		}
	}
	return nil
}

// call names an operation: its process and its ID there.
type call struct {
	process string
	id      int
}

// pair joins invokes to their outcomes.
func (r *run) pair() error {
	open := map[call]*operation{}
	seen := map[call]bool{}
	for i, e := range r.events {
		name := call{e.Process, e.ID}
		switch e.Type {
		case history.TypeInvoke:
			if seen[name] {
				return fmt.Errorf("event %d: %s invokes operation %d a second time: IDs count up within a process", i, e.Process, e.ID)
			}
			seen[name] = true
			o := &operation{Event: e, asked: e.Time, done: r.end, call: i, end: i}
			open[name] = o
			r.operations = append(r.operations, o)
		case history.TypeOK, history.TypeFail, history.TypeInfo:
			o := open[name]
			if o == nil {
				return fmt.Errorf("event %d: %s of %s's operation %d (%s), which has no invoke, or ended before", i, e.Type, e.Process, e.ID, e.Op)
			}
			if o.Op != e.Op {
				return fmt.Errorf("event %d: %s's operation %d was invoked as %s and ends as %s", i, e.Process, e.ID, o.Op, e.Op)
			}
			delete(open, name)
			o.finish(e, i)
		}
	}
	for _, o := range open { // a killed client waits no longer
		if t, killed := r.killed(o.Process, o.asked); killed {
			o.done = t
		}
	}
	r.sortAcquires()
	return nil
}

// finish records an operation's outcome; what only the invoke said stays.
func (o *operation) finish(e history.Event, index int) {
	if e.Key == "" {
		e.Key = o.Key
	}
	if e.Lease == 0 {
		e.Lease = o.Lease
	}
	if e.Value == "" && o.Op == history.OpWrite {
		e.Value = o.Value
	}
	if e.Base == "" {
		e.Base = o.Base
	}
	if e.Fence == 0 {
		e.Fence = o.Fence
	}
	if e.Token == "" {
		e.Token = o.Token
	}
	o.Event, o.outcome, o.done, o.end = e, e.Type, e.Time, index
}

// sortAcquires groups the acquires by key.
func (r *run) sortAcquires() {
	r.acquires = map[string][]*operation{}
	for _, o := range r.operations {
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
