package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// fault is one fault on one target. It lasts until its own end, until another fault or a look that finds the node up
// ends its class, or until the end of the history.
type fault struct {
	*history.Fault // its beginning
	target         string
	link           history.Link // set if the target is a link
	span
	since    int64   // from then on it may have been in effect: from, or earlier
	event    int     // index of its beginning
	impact   *int    // number of affected messages or keys; nil: not counted
	noEffect bool    // see faultImpact
	sent     []int64 // when a cut's client sent something, or the affected messages set out, if known
}

// faultReader collects the faults of a history.
type faultReader struct {
	faults []fault
	open   []int         // indices of faults without an end, ordered by beginning
	byID   map[int][]int // indices of all faults
}

func newFaultReader() faultReader { return faultReader{byID: map[int][]int{}} }

func (r *faultReader) read(i int, e *history.Event) error {
	switch {
	case e.Type == history.TypeFault && e.Fault == nil:
		return eventError(i, "a fault event needs its fault")
	case e.Type == history.TypeFault && e.Fault.Class == "":
		return eventError(i, "the fault %s needs its class", e.Fault.Kind)
	case e.Type == history.TypeFault && e.Fault.Phase == history.PhaseEnd:
		r.end(e.Time, func(f fault) bool { return f.ID == e.Fault.ID })
		for _, i := range r.byID[e.Fault.ID] {
			r.faults[i].impact, r.faults[i].sent = e.Fault.Affected, e.Fault.SentAt
		}
	case e.Type == history.TypeFault:
		r.end(e.Time, func(f fault) bool {
			return e.Fault.Class.Ends(f.Class) && slices.Contains(e.Fault.Targets, f.target)
		})
		for _, f := range begin(e, i) {
			if f.Class.Lasts() {
				r.open = append(r.open, len(r.faults))
			}
			r.byID[f.ID] = append(r.byID[f.ID], len(r.faults))
			r.faults = append(r.faults, f)
		}
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		// A supervisor may have restarted it. (A look at the instant of the crash was before the crash.)
		r.end(e.Time, func(f fault) bool {
			return f.target == e.Process && f.from < e.Time && history.NodeUp.Ends(f.Class)
		})
	}
	return nil
}

func (r *faultReader) end(t int64, matches func(fault) bool) {
	r.open = slices.DeleteFunc(r.open, func(i int) bool {
		if !matches(r.faults[i]) {
			return false
		}
		r.faults[i].until = t
		return true
	})
}

// until ends the open faults at a time and returns all faults.
func (r *faultReader) until(end int64) []fault {
	for _, i := range r.open {
		r.faults[i].until = end
	}
	return r.faults
}

// begin returns the faults of a fault event, one for each target. An event that only ends other faults has none; some
// faults end at once.
func begin(e *history.Event, index int) []fault {
	if !e.Fault.Class.IsFault() {
		return nil
	}
	var faults []fault
	for _, target := range e.Fault.Targets {
		link, _ := history.LinkOf(target)
		f := fault{Fault: e.Fault, target: target, link: link, span: span{e.Time, e.Time}, since: e.Time,
			event: index, impact: e.Fault.Affected}
		if e.Fault.Since > 0 {
			f.since = e.Fault.Since
		}
		faults = append(faults, f)
	}
	return faults
}

// faults are all faults of a history, ordered by beginning.
type faults []fault

// killed returns when a client was first killed, at or after `from`.
func (fs faults) killed(client string, from int64) (int64, bool) {
	i := slices.IndexFunc(fs, func(f fault) bool {
		return f.Class == history.ClientKilled && f.target == client && f.from >= from
	})
	if i < 0 {
		return 0, false
	}
	return fs[i].from, true
}

// paused returns when a process was observed paused.
func (fs faults) paused(process string) []span {
	return fs.spans(fault.observed, func(f fault) bool { return f.Class.Pauses() && f.target == process })
}

// spans returns the merged intervals of the matching faults.
func (fs faults) spans(interval func(fault) span, matches func(fault) bool) []span {
	var spans []span
	for _, f := range fs {
		if matches(f) {
			spans = append(spans, interval(f))
		}
	}
	return union(spans)
}

// observed is when a fault was observed in effect.
func (f fault) observed() span { return f.span }

// possible is when a fault may have been in effect. An engine may kill a server long before it reports that, and a
// reply that the server misses meanwhile shows nothing about the lock.
func (f fault) possible() span { return span{f.since, f.until} }

// hitNothing reports whether the nemesis counted what the fault affected, and counted nothing: a cut that no message
// tried to pass.
func (f fault) hitNothing() bool { return f.impact != nil && *f.impact == 0 }

// impactUnknown reports whether other events must show what the fault affected.
func (f fault) impactUnknown() bool { return f.impact == nil || f.Class == history.NodePaused }
