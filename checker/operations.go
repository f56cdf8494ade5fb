package checker

import (
	"fmt"

	"example.org/lockproof/harness/history"
)

// operation is a client's operation with its outcome. It keeps only what the verdicts need: a history may have
// millions.
type operation struct {
	process, key string
	op           history.Op
	token        string // of a grant: that of its keys on the nodes, even if the lock does not show it
	// value is what a read found or a write stored; base is what a write replaced.
	value, base string
	call        int32 // the index of the invoke
	end         int32 // the index of the outcome, or of the invoke without one
	id, lease   int
	fence       int64
	validity    int64
	invoked     int64
	done        int64 // when it ended, or when its client or the history did
	stopped     int64 // of a granted acquire: when its lease ended, unless at the deadline
	outcome     opOutcome
	ended       string // why the lease ended at stopped
	wall        bool
	refused     bool        // the lock refused its settings and contacted no node
	cancelled   bool        // its caller cancelled it
	leased      bool        // of an acquire: it was granted a usable lease (see leaseBuilder.end)
	atStore     *storeWrite // of a write; nil: no link shows it
}

type opOutcome uint8

const (
	underWay opOutcome = iota // when the history ended
	succeeded
	failed
	indefinite // unknown
)

var outcomeOf = map[history.Type]opOutcome{history.TypeOK: succeeded, history.TypeFail: failed,
	history.TypeInfo: indefinite}

func (o *operation) span() span { return span{o.invoked, o.done} }

func (o *operation) ok() bool { return o.outcome == succeeded }

// granted reports whether it is an acquire that was granted.
func (o *operation) granted() bool { return o.op == history.OpAcquire && o.ok() }

// acquiresNothing reports whether it is a release or a check.
func (o *operation) acquiresNothing() bool {
	return o.op == history.OpRelease || o.op == history.OpCheck
}

// asksNodes reports whether it is the lock's work: an acquire, an extension or a release.
func (o *operation) asksNodes() bool {
	return o.op == history.OpAcquire || o.op == history.OpExtend || o.op == history.OpRelease
}

func (o *operation) accessesStore() bool { return o.op == history.OpRead || o.op == history.OpWrite }

// finish records an operation's outcome. Values that only the invoke has stay.
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
	if o.accessesStore() && e.Base != "" {
		o.base = e.Base
	}
	o.validity, o.wall = e.Validity, e.Wall
	o.refused, o.cancelled = e.Reason == history.ReasonRefused, e.Reason == history.ReasonCancelled
	o.done, o.end, o.outcome = e.Time, int32(index), outcomeOf[e.Type]
}

// rewritten reports whether a write's outcome contradicts its invoke. An invoke that names a value names its base, too,
// which is "" for the initial version.
func (o *operation) rewritten(e *history.Event) bool {
	return o.value != "" && (e.Value != "" && e.Value != o.value ||
		e.Base != "" && e.Base != o.base)
}

// contradicts reports whether an outcome names another key or lease than its invoke. An acquire's lease is its own.
func (o *operation) contradicts(e *history.Event) bool {
	lease := o.lease
	if o.op == history.OpAcquire {
		lease = o.id
	}
	return o.key != "" && e.Key != "" && e.Key != o.key || lease != 0 && e.Lease != 0 && e.Lease != lease
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

// find returns the operation with that ID, or nil.
func (os *operations) find(process string, id int) *operation {
	return os.byID[operationID{process, id}]
}

// grant returns the acquire that granted a client a lease, or nil.
func (os *operations) grant(client string, lease int) *operation {
	if o := os.find(client, lease); o != nil && o.granted() {
		return o
	}
	return nil
}

// missing names a process some of whose operations the history lacks: their IDs count from 1. "": it has all.
func (os *operations) missing() string {
	last, have := map[string]int{}, map[string]int{}
	for _, o := range os.kept {
		last[o.process] = max(last[o.process], o.id)
		have[o.process]++
	}
	for _, process := range keysOf(last) {
		if have[process] < last[process] {
			return fmt.Sprintf("the history has only %d of %s's first %d operations", have[process], process, last[process])
		}
	}
	return ""
}

func (os *operations) invoke(i int, e *history.Event) (*operation, error) {
	process := e.Process
	if os.find(process, e.ID) != nil {
		return nil, eventError(i, "%s invokes operation %d a second time: IDs count up within a process",
			e.Process, e.ID)
	}
	o := &operation{
		process: process, op: e.Op, key: e.Key, token: e.Token, call: int32(i),
		end: int32(i), id: e.ID, lease: e.Lease, fence: e.Fence, validity: e.Validity, invoked: e.Time, wall: e.Wall,
	}
	if o.accessesStore() {
		o.value, o.base = e.Value, e.Base
	}
	os.kept, os.byID[operationID{process, e.ID}] = append(os.kept, o), o
	return o, nil
}

func (os *operations) outcome(i int, e *history.Event) error {
	process := e.Process
	o := os.find(process, e.ID)
	switch {
	case o == nil || o.outcome != underWay:
		return eventError(i, "%s of %s's operation %d (%s), which has no invoke, or ended before", e.Type,
			e.Process, e.ID, e.Op)
	case o.op == history.OpWrite && o.rewritten(e):
		return eventError(i, "%s's write %d was invoked with the value %q in the place of %q and ends with %q in "+
			"the place of %q",
			e.Process, e.ID, o.value, o.base, e.Value, e.Base)
	case o.op != e.Op:
		return eventError(i, "%s's operation %d was invoked as %s and ends as %s", e.Process, e.ID,
			o.op, e.Op)
	case o.contradicts(e):
		return eventError(i, "%s's operation %d (%s) was invoked on the key %q and lease %d, and ends on the key %q "+
			"and lease %d", e.Process, e.ID, e.Op, o.key, o.lease, e.Key, e.Lease)
	}
	os.finish(o, e, i)
	if o.granted() {
		o.stopped, o.ended = never, EndedDeadline
	}
	return nil
}
