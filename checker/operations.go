package checker

import (
	"fmt"

	"example.org/lockproof/harness/history"
)

// operation is a client's operation with its outcome: of the invoke and the outcome only what the
// verdicts need, since a history may have millions.
type operation struct {
	process, key string
	op           history.Op
	token        string
	keyToken     string // of an acquire: that of its keys on the nodes, also where its lock does not show it
	// value and base are what a read or write found and left at the store.
	value, base string
	call        int32 // the index of the invoke
	end         int32 // the index of the outcome, or of the invoke without one
	id, lease   int
	fence       int64
	validity    int64
	asked       int64 // when it was invoked
	done        int64 // when it ended, or when its client or the history did
	stopped     int64 // of a granted acquire: when belief in it ended, if not at the deadline
	outcome     opOutcome
	ended       string // why belief ended at stopped
	wall        bool
	refused     bool        // the lock refused its settings: nobody was asked
	cancelled   bool        // the caller gave it up
	leased      bool        // of an acquire: it was granted a lease that its client could use (see leaseBuilder.end)
	atStore     *storeWrite // of a write; nil: no link tells of it
}

// opOutcome is how an operation ended.
type opOutcome uint8

const (
	underWay opOutcome = iota // when the history ended
	succeeded
	failed
	indefinite // nobody knows
)

var outcomeOf = map[history.Type]opOutcome{history.TypeOK: succeeded, history.TypeFail: failed,
	history.TypeInfo: indefinite}

func (o *operation) ok() bool { return o.outcome == succeeded }

// granted reports whether it began a lease.
func (o *operation) granted() bool { return o.op == history.OpAcquire && o.ok() }

// ends reports whether it gives back a lease or asks whether there is one: it takes nothing.
func (o *operation) ends() bool { return o.op == history.OpRelease || o.op == history.OpCheck }

// stored reports whether it was about the register at the store.
func (o *operation) stored() bool { return o.op == history.OpRead || o.op == history.OpWrite }

// finish records an operation's outcome; what only the invoke said stays.
func (os *operations) finish(o *operation, e *history.Event, index int) {
	if e.Key != "" {
		o.key = e.Key
	}
	if e.Lease != 0 {
		o.lease = e.Lease
	}
	if e.Token != "" {
		o.token = e.Token
	}
	if e.Fence != 0 {
		o.fence = e.Fence
	}
	if o.op == history.OpRead || o.op == history.OpWrite && e.Value != "" {
		o.value = e.Value
	}
	if o.stored() && e.Base != "" {
		o.base = e.Base
	}
	o.validity, o.wall = e.Validity, e.Wall
	o.refused, o.cancelled = e.Reason == history.ReasonRefused, e.Reason == history.ReasonCancelled
	o.done, o.end, o.outcome = e.Time, int32(index), outcomeOf[e.Type]
}

// rewritten reports whether a write ends as another than it was invoked as. An invoke that
// names a value names its base, too, which is "" for the initial version.
func (o *operation) rewritten(e *history.Event) bool {
	return o.value != "" && (e.Value != "" && e.Value != o.value ||
		e.Base != "" && e.Base != o.base)
}

// operations joins invokes to their outcomes.
type operations struct {
	kept []*operation // in the order of their invokes
	byID map[operationID]*operation
}

// operationID names an operation: IDs count up within a process.
type operationID struct {
	process string
	id      int
}

// find gives the operation of that ID, nil if there is none.
func (os *operations) find(process string, id int) *operation {
	return os.byID[operationID{process, id}]
}

// grant gives the acquire that granted a client a lease, nil if none did.
func (os *operations) grant(client string, lease int) *operation {
	if o := os.find(client, lease); o != nil && o.granted() {
		return o
	}
	return nil
}

// invoke adds an operation.
func (os *operations) invoke(i int, e *history.Event) (*operation, error) {
	process := e.Process
	if os.find(process, e.ID) != nil {
		return nil, fmt.Errorf("event %d: %s invokes operation %d a second time: IDs count up within a process", i,
			e.Process, e.ID)
	}
	o := &operation{
		process: process, op: e.Op, key: e.Key, token: e.Token, call: int32(i),
		end: int32(i), id: e.ID, lease: e.Lease, fence: e.Fence, validity: e.Validity, asked: e.Time, wall: e.Wall,
	}
	if o.stored() {
		o.value, o.base = e.Value, e.Base
	}
	os.kept, os.byID[operationID{process, e.ID}] = append(os.kept, o), o
	return o, nil
}

// outcome ends an operation.
func (os *operations) outcome(i int, e *history.Event) error {
	process := e.Process
	o := os.find(process, e.ID)
	switch {
	case o == nil || o.outcome != underWay:
		return fmt.Errorf("event %d: %s of %s's operation %d (%s), which has no invoke, or ended before", i, e.Type,
			e.Process, e.ID, e.Op)
	case o.op == history.OpWrite && o.rewritten(e):
		return fmt.Errorf("event %d: %s's write %d was invoked with the value %q in the place of %q and ends with %q in "+
			"the place of %q",
			i, e.Process, e.ID, o.value, o.base, e.Value, e.Base)
	case o.op != e.Op:
		return fmt.Errorf("event %d: %s's operation %d was invoked as %s and ends as %s", i, e.Process, e.ID,
			o.op, e.Op)
	}
	os.finish(o, e, i)
	if o.granted() {
		o.stopped, o.ended = never, EndedDeadline
	}
	return nil
}
