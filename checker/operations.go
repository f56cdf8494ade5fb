package checker

import (
	"fmt"

	"lockproof/harness/history"
)

// operation is a client's operation with its outcome: of the invoke and the
// outcome only what the verdicts need, since a history may have millions.
type operation struct {
	Process  string
	Op       history.Op
	ID       int
	Lease    int
	Key      string
	Token    string
	Fence    int64
	Validity int64
	Wall     bool
	*stored               // of reads and writes; nil for others
	outcome  history.Type // ok, fail, info; "" while it is under way at the end
	asked    int64        // when it was invoked
	done     int64        // when it ended, or when its client or the history did
	call     int          // the index of the invoke
	end      int          // the index of the outcome, or of the invoke without one
	belief   *belief      // that a granted acquire began
}

// stored is what a read or write found and left at the store.
type stored struct{ Value, Base string }

func (o *operation) ok() bool { return o.outcome == history.TypeOK }

// finish records an operation's outcome; what only the invoke said stays.
func (o *operation) finish(e *history.Event, index int) {
	if e.Key != "" {
		o.Key = e.Key
	}
	if e.Lease != 0 {
		o.Lease = e.Lease
	}
	if e.Token != "" {
		o.Token = e.Token
	}
	if e.Fence != 0 {
		o.Fence = e.Fence
	}
	if o.stored != nil {
		if e.Value != "" || o.Op == history.OpRead {
			o.Value = e.Value
		}
		if e.Base != "" {
			o.Base = e.Base
		}
	}
	o.Validity, o.Wall = e.Validity, e.Wall
	o.done, o.end = e.Time, index
	switch e.Type { // by constants, so that the event's own text can be forgotten
	case history.TypeOK:
		o.outcome = history.TypeOK
	case history.TypeFail:
		o.outcome = history.TypeFail
	default:
		o.outcome = history.TypeInfo
	}
}

// operations joins invokes to their outcomes.
type operations struct {
	all     []*operation // in the order of their invokes, but for the passing ones
	block   []operation  // memory for the next ones
	spare   []*operation // passing ones that are over
	clients map[string]*numbered
}

// blockSize is how many operations are allocated at a time.
const blockSize = 512

// numbered are one process's operations by ID. IDs count up from 1, but nobody
// can rely on that: those that are far ahead are kept apart.
type numbered struct {
	process string
	dense   []*operation
	sparse  map[int]*operation
}

// leap is how far ahead of the count an ID may be for its place to be kept.
const leap = 1024

func (n *numbered) get(id int) *operation {
	if id >= 0 && id < len(n.dense) {
		return n.dense[id]
	}
	return n.sparse[id]
}

func (n *numbered) put(id int, o *operation) {
	switch {
	case id >= 0 && id < len(n.dense):
		n.dense[id] = o
	case n.sparse[id] != nil:
		n.sparse[id] = o
	case id >= 0 && id < len(n.dense)+leap && len(n.sparse) == 0:
		for len(n.dense) < id {
			n.dense = append(n.dense, nil)
		}
		n.dense = append(n.dense, o)
	default:
		if n.sparse == nil {
			n.sparse = map[int]*operation{}
		}
		n.sparse[id] = o
	}
}

// of gives a process's operations.
func (os *operations) of(process string) *numbered {
	n := os.clients[process]
	if n == nil {
		n = &numbered{process: process}
		os.clients[process] = n
	}
	return n
}

// find gives the operation of that ID, nil if there is none.
func (os *operations) find(process string, id int) *operation {
	if n := os.clients[process]; n != nil {
		return n.get(id)
	}
	return nil
}

// invoke adds an operation.
func (os *operations) invoke(i int, e *history.Event, names names) error {
	n := os.of(e.Process)
	if n.get(e.ID) != nil {
		return fmt.Errorf("event %d: %s invokes operation %d a second time: IDs count up within a process", i, e.Process, e.ID)
	}
	o := os.allocate()
	*o = operation{
		Process: n.process, Op: known(e.Op), ID: e.ID, Lease: e.Lease, Key: names.one(e.Key), Token: e.Token, Fence: e.Fence,
		Validity: e.Validity, Wall: e.Wall, asked: e.Time, call: i, end: i,
	}
	if e.Op == history.OpRead || e.Op == history.OpWrite {
		o.stored = &stored{e.Value, e.Base}
	}
	n.put(e.ID, o)
	if !passing(o.Op) {
		os.all = append(os.all, o)
	}
	return nil
}

func (os *operations) allocate() *operation {
	if n := len(os.spare); n > 0 {
		o := os.spare[n-1]
		os.spare = os.spare[:n-1]
		return o
	}
	if len(os.block) == 0 {
		os.block = make([]operation, blockSize)
	}
	o := &os.block[0]
	os.block = os.block[1:]
	return o
}

// passing tells the operations of which nothing is needed once they are over:
// what a release means for its lease, it means from its invoke on.
func passing(op history.Op) bool { return op == history.OpRelease || op == history.OpCheck }

// over stands for all passing operations that are over.
var over = &operation{outcome: history.TypeInfo}

// known gives the constant for an op, so that the event's own text can be
// forgotten.
func known(op history.Op) history.Op {
	for _, k := range []history.Op{history.OpAcquire, history.OpRelease, history.OpExtend, history.OpCheck, history.OpRead, history.OpWrite} {
		if op == k {
			return k
		}
	}
	return op
}

// outcome ends an operation.
func (os *operations) outcome(i int, e *history.Event, names names) error {
	o := os.find(e.Process, e.ID)
	switch {
	case o == nil || o.outcome != "":
		return fmt.Errorf("event %d: %s of %s's operation %d (%s), which has no invoke, or ended before", i, e.Type, e.Process, e.ID, e.Op)
	case o.Op != e.Op:
		return fmt.Errorf("event %d: %s's operation %d was invoked as %s and ends as %s", i, e.Process, e.ID, o.Op, e.Op)
	}
	if passing(o.Op) {
		os.of(e.Process).put(e.ID, over)
		os.spare = append(os.spare, o)
		return nil
	}
	o.finish(e, i)
	o.Key = names.one(o.Key)
	if o.Op == history.OpAcquire && o.ok() {
		o.belief = &belief{grant: o, end: never, ended: EndedDeadline}
	}
	return nil
}

func newOperations() operations { return operations{clients: map[string]*numbered{}} }
