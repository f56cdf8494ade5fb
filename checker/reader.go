package checker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// reader makes a record of a history without its timeline, which needs the clocks first.
type reader struct {
	*record
	faulty  faultReader
	writing map[version]*operation // invoked, and not yet reported as successful
	builder leaseBuilder
	index   int // of the next event
	traffic *traffic.Reader
}

// readRecord reads the history up to the leases.
func readRecord(source Source) (*record, error) {
	record := newRecord()
	r := &reader{
		record: record, faulty: newFaultReader(), writing: map[version]*operation{},
		builder: leaseBuilder{record: record, replied: map[string]int64{}, replyDelay: never}, traffic: traffic.NewReader(),
	}
	record.clocks = newClocks()
	if err := source(r.event); err != nil {
		return nil, err
	}
	if r.index == 0 {
		return nil, errNoHeader
	}
	record.traffic = r.traffic.Report()
	record.faults = r.faulty.until(record.end)
	r.names.end()
	r.sortOperations()
	return record, r.builder.end()
}

func (r *reader) event(e *history.Event) error {
	i := r.index
	r.index++
	r.traffic.Add(i, e)
	if err := r.inOrder(i, e); err != nil {
		return err
	}
	r.end = e.Time
	switch e.Type {
	case history.TypeInvoke:
		o, err := r.operations.invoke(i, e)
		if err == nil {
			r.trackWrite(o)
			r.names.operation(o, true)
		}
		return err
	case history.TypeOK, history.TypeFail, history.TypeInfo:
		return r.outcome(i, e)
	case history.TypeCommand:
		r.command(i, e)
		return nil
	case history.TypeReply:
		r.builder.reply(e)
		r.command(i, e)
		return nil
	case history.TypeLost:
		r.builder.recordLoss(i, e, e.Lease)
		return nil
	case history.TypeCancel:
		r.cancels = append(r.cancels, moment{i, e.Time, e.Process})
		return nil
	case history.TypeEnd: // late events of clients may follow
		r.finished = true
	case history.TypeClock:
		if err := r.clocks.read(r.header, e.Process, i, e); err != nil {
			return err
		}
	}
	r.recordEvidence(e)
	return r.faulty.read(i, e)
}

func (r *reader) command(i int, e *history.Event) {
	r.trackStoreWrite(e)
	r.names.command(i, e)
}

// recordEvidence keeps the events that limit what the run shows.
func (r *reader) recordEvidence(e *history.Event) {
	switch {
	case e.Type == history.TypeFault && e.Fault != nil && !e.Fault.Effective:
		r.ineffective = cmp.Or(r.ineffective, fmt.Sprintf("the fault %s on %s at %s did not take effect",
			e.Fault.Kind, strings.Join(e.Fault.Targets, ", "), formatTime(e.Time)))
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		r.looks[e.Process] = e.Node.Keys
	case e.Type == history.TypeStall:
		r.stalls = append(r.stalls, stall{e.Process, span{e.Time - e.Late, e.Time}})
	case e.Type == history.TypeNote && e.Reason == history.ReasonPreconditionFailed:
		r.unmet = cmp.Or(r.unmet, e.Text)
	}
}

// outcome ends an operation. An extension that fails because the lease is lost reports the loss to its client.
func (r *reader) outcome(i int, e *history.Event) error {
	if err := r.operations.outcome(i, e); err != nil {
		return err
	}
	o := r.operations.find(e.Process, e.ID)
	r.builder.measureReply(o)
	r.names.operation(o, false)
	r.trackWrite(o)
	if e.Op == history.OpExtend && e.Type == history.TypeFail && e.Reason == history.ReasonLost {
		r.builder.recordLoss(i, e, o.lease)
	}
	return nil
}

var errNoHeader = errors.New("the history has no header: its first event must be of type header and hold one")

// inOrder requires that the header comes first, that there is only one, and that no event is earlier than the one
// before.
func (r *reader) inOrder(i int, e *history.Event) error {
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

// sortOperations ends the operations without an outcome, and groups acquires and store accesses by key.
func (r *reader) sortOperations() {
	for _, o := range r.operations.kept {
		if o.outcome == underWay {
			o.done = r.end
			if t, killed := r.faults.killed(o.process, o.invoked); killed { // a killed client waits no longer
				o.done = t
			}
		}
		switch k := r.key(o.key); {
		case o.op == history.OpAcquire:
			if len(k.acquires) == 0 {
				r.keys = append(r.keys, k)
			}
			k.acquires = append(k.acquires, o)
		case o.accessesStore():
			k.storeOps = append(k.storeOps, o)
		}
	}
	slices.SortFunc(r.keys, byName)
}
