package checker

import (
	"fmt"
	"slices"

	"example.org/lockproof/harness/history"
)

// fault is one fault on one target, from its beginning to what ended it: its
// own end, or a fault of a class that ends its own. A fault that nothing ended
// lasts until the end of the history.
type fault struct {
	class  history.Class
	target string
	link   history.Link // that the target is, if it is one
	span
	since  int64 // from when on it may have been in effect: from, or before
	open   bool  // nothing ended it
	event  int   // its beginning, in the history
	cause  *history.Fault
	impact *int    // to how much it was done; nil: not counted
	sent   []int64 // of a cut: when its client sent the node something, as far as is known
}

// faultReader collects the faults of a history.
type faultReader struct {
	faults []fault
	open   []int         // those that nothing has ended, in the order of their beginnings
	byID   map[int][]int // all of them
}

func newFaultReader() faultReader { return faultReader{byID: map[int][]int{}} }

// read takes the next event.
func (r *faultReader) read(i int, e *history.Event) error {
	switch {
	case e.Type == history.TypeFault && e.Fault == nil:
		return fmt.Errorf("event %d: a fault event needs its fault", i)
	case e.Type == history.TypeFault && e.Fault.Class == "":
		return fmt.Errorf("event %d: the fault %s needs its class", i, e.Fault.Kind)
	case e.Type == history.TypeFault && e.Fault.Phase == history.PhaseEnd:
		r.end(e.Time, func(f fault) bool { return f.cause.ID == e.Fault.ID })
		for _, i := range r.byID[e.Fault.ID] {
			r.faults[i].impact, r.faults[i].sent = e.Fault.Affected, e.Fault.SentAt
		}
	case e.Type == history.TypeFault:
		r.end(e.Time, func(f fault) bool {
			return e.Fault.Class.Ends(f.class) && slices.Contains(e.Fault.Targets, f.target)
		})
		for _, f := range begin(e, i) {
			if f.open {
				r.open = append(r.open, len(r.faults))
			}
			r.byID[f.cause.ID] = append(r.byID[f.cause.ID], len(r.faults))
			r.faults = append(r.faults, f)
		}
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		// A supervisor may have brought it back without our doing. (A look
		// at the instant of the crash was the one before it.)
		r.end(e.Time, func(f fault) bool {
			return f.target == e.Process && f.from < e.Time && history.NodeUp.Ends(f.class)
		})
	}
	return nil
}

// end ends the open faults that match.
func (r *faultReader) end(t int64, matches func(fault) bool) {
	r.open = slices.DeleteFunc(r.open, func(i int) bool {
		if !matches(r.faults[i]) {
			return false
		}
		r.faults[i].until, r.faults[i].open = t, false
		return true
	})
}

// until gives the faults of a history that ended at a time.
func (r *faultReader) until(end int64) []fault {
	for _, i := range r.open {
		r.faults[i].until = end
	}
	return r.faults
}

// begin gives a fault event's faults, one for each target. What only ends others
// is none; some are over at once.
func begin(e *history.Event, index int) []fault {
	if !e.Fault.Class.IsFault() {
		return nil
	}
	var faults []fault
	for _, target := range e.Fault.Targets {
		link, _ := history.LinkOf(target)
		f := fault{class: e.Fault.Class, target: target, link: link, span: span{from: e.Time}, since: e.Time,
			open: true, event: index, cause: e.Fault, impact: e.Fault.Affected}
		if e.Fault.Since > 0 {
			f.since = e.Fault.Since
		}
		if !f.class.Lasts() {
			f.until, f.open = e.Time, false
		}
		faults = append(faults, f)
	}
	return faults
}

// kills are the times at which clients were killed.
type kills map[string][]int64

// first gives the first time from `from` on at which a client was killed.
func (ks kills) first(client string, from int64) (int64, bool) {
	for _, t := range ks[client] {
		if t >= from {
			return t, true
		}
	}
	return 0, false
}

// faults are all faults of a history, in the order of their beginnings.
type faults []fault

// paused gives the stretches for which a process was seen to be paused.
func (fs faults) paused(process string) []span {
	return fs.stretches(fault.seen, func(f fault) bool { return f.class.Pauses() && f.target == process })
}

// stretches gives the merged stretches of the faults that match.
func (fs faults) stretches(when func(fault) span, matches func(fault) bool) []span {
	var spans []span
	for _, f := range fs {
		if matches(f) {
			spans = append(spans, when(f))
		}
	}
	return union(spans)
}

// seen is the stretch for which a fault was seen to be in effect.
func (f fault) seen() span { return f.span }

// possible is the stretch for which a fault may have been in effect: an engine
// can kill a server long before it tells, and what a client does not get from
// that server in the meantime says nothing about the lock.
func (f fault) possible() span { return span{f.since, f.until} }

// hitNothing reports whether it was counted what a fault was done to, and that was nothing:
// a cut through which nothing tried to pass.
func (f fault) hitNothing() bool { return f.impact != nil && *f.impact == 0 }

// impactUnknown reports whether what it was done to, if to anything, is to be found elsewhere
// in the history.
func (f fault) impactUnknown() bool { return f.impact == nil || f.class == history.NodePaused }
