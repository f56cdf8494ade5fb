package checker

import (
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/history"
)

// fault is one fault on one target, from its beginning to what ended it: its
// own end, or the verb that undoes it (start, resume, heal, let-go). A fault
// that nothing ended lasts until the end of the history.
type fault struct {
	id     int
	kind   string
	target string
	span
	since int64 // from when on it may have been in effect: from, or before
	open  bool  // nothing ended it
	event int   // its beginning, in the history
	cause *history.Fault
}

// undoes says which kinds of fault a verb ends on its targets.
var undoes = map[string][]string{
	"start":  {"kill", "shutdown", "power-loss"},
	"resume": {"pause"},
	"heal":   {"cut", "delay"},
	"let-go": {"hold", "lose", "drop"},
	// A clock that is set anew ends the skew that was.
	"clock": {"clock"},
}

// stops are the kinds of fault that stop a node or a client.
// A node whose memory or disk is full refuses writes, or has ended because of it.
var stops = []string{"kill", "shutdown", "power-loss", "pause", "fill", "fill-disk", "disconnect"}

// hinders are the kinds of fault that hinder a link.
var hinders = []string{"cut", "delay", "hold", "lose", "drop"}

// faultReader collects the faults of a history.
type faultReader struct {
	faults []fault
	open   []int // those that nothing has ended, in the order of their beginnings
}

// read takes the next event.
func (r *faultReader) read(i int, e *history.Event) error {
	switch {
	case e.Type == history.TypeFault && e.Fault == nil:
		return fmt.Errorf("event %d: a fault event needs its fault", i)
	case e.Type == history.TypeFault && e.Fault.Phase == history.PhaseEnd:
		r.undo(e.Time, func(f fault) bool { return f.id == e.Fault.ID })
	case e.Type == history.TypeFault:
		r.undo(e.Time, func(f fault) bool {
			return slices.Contains(undoes[e.Fault.Kind], f.kind) && slices.Contains(e.Fault.Targets, f.target)
		})
		for _, f := range begin(e, i) {
			if f.open {
				r.open = append(r.open, len(r.faults))
			}
			r.faults = append(r.faults, f)
		}
	case e.Type == history.TypeNode && e.Node != nil && e.Node.Up:
		// A supervisor may have brought it back without our doing. (A look
		// at the instant of the crash was the one before it.)
		r.undo(e.Time, func(f fault) bool {
			return f.target == e.Process && f.from < e.Time && slices.Contains(undoes["start"], f.kind)
		})
	}
	return nil
}

// undo ends the open faults that match.
func (r *faultReader) undo(t int64, matches func(fault) bool) {
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

// begin gives a fault event's faults, one for each target. The verbs that
// only undo are none; a flush is over at once.
func begin(e *history.Event, index int) []fault {
	_, undoer := undoes[e.Fault.Kind]
	if undoer && e.Fault.Kind != "clock" {
		return nil
	}
	var faults []fault
	for _, target := range e.Fault.Targets {
		f := fault{id: e.Fault.ID, kind: e.Fault.Kind, target: target, span: span{from: e.Time}, since: e.Time, open: true, event: index, cause: e.Fault}
		if e.Fault.Since > 0 {
			f.since = e.Fault.Since
		}
		if f.kind == "flush" {
			f.until, f.open = e.Time, false
		}
		faults = append(faults, f)
	}
	return faults
}

// killed gives the first time from `from` on at which a client was killed.
func (r *run) killed(client name, from int64) (int64, bool) {
	for _, t := range r.kills[client] {
		if t >= from {
			return t, true
		}
	}
	return 0, false
}

// paused gives the stretches for which a process was seen to be paused.
func (r *run) paused(process string) []span {
	return r.faulty(fault.seen, func(f fault) bool { return f.kind == "pause" && f.target == process })
}

// faulty gives the merged stretches of the faults that match.
func (r *run) faulty(when func(fault) span, matches func(fault) bool) []span {
	var spans []span
	for _, f := range r.faults {
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

// unhealthy gives the stretches for which a client had no good way to a node:
// the node was down or paused, or the link between them was hindered.
func (r *run) unhealthy(client, node string) []span {
	link := client + "-" + node
	return r.faulty(fault.possible, func(f fault) bool {
		return f.target == node && slices.Contains(stops, f.kind) ||
			f.target == link && slices.Contains(hinders, f.kind) && !r.far(f)
	})
}

// far reports whether a fault is a distance that belongs to the scenario's
// setting: a node that is far away is slow to answer, but healthy.
func (r *run) far(f fault) bool { return f.kind == "delay" && f.cause.Setting }

// unreachable gives the stretches for which a client could not reach a healthy
// majority, because too many nodes were unhealthy or because it was itself
// stopped.
func (r *run) unreachable(client string) []span {
	var nodes [][]span
	for _, node := range r.header.Nodes {
		nodes = append(nodes, r.unhealthy(client, node))
	}
	own := r.faulty(fault.possible, func(f fault) bool { return f.target == client && slices.Contains(stops, f.kind) })
	return union(append(covered(r.blocking(), nodes), own...))
}

// disturbed gives the stretches for which faults are not healed as far as a
// client can tell: it cannot reach a majority, a node is down or paused, or one
// of its own links is hindered. What the scenario's setting keeps from it is no
// fault, and neither is what befalls other clients.
func (r *run) disturbed(client string) []span {
	spans := r.unreachable(client)
	for _, f := range r.faults {
		node := slices.Contains(stops, f.kind) && slices.Contains(r.header.Nodes, f.target)
		link := slices.Contains(hinders, f.kind) && strings.HasPrefix(f.target, client+"-")
		if (node || link) && !f.cause.Setting {
			spans = append(spans, f.possible())
		}
	}
	return union(spans)
}

// way is what lies between a client and the nodes: the stretches for which it
// could not reach a majority, and those for which a fault was on that could
// concern it, or had just ended.
type way struct{ unreachable, disturbed, unsettled []span }

// readWays gives the way of every client that tries to acquire.
func (r *run) readWays() map[name]*way {
	ways := map[name]*way{}
	for _, k := range r.keys {
		for _, o := range k.acquires {
			if ways[o.process] == nil {
				client := r.name(o.process)
				w := &way{unreachable: r.unreachable(client), disturbed: r.disturbed(client)}
				w.unsettled = union(append(slices.Clone(w.disturbed), r.healed()...))
				ways[o.process] = w
			}
		}
	}
	return ways
}

// blocking is how many nodes prevent a grant when they say no.
func (r *run) blocking() int { return len(r.header.Nodes) - r.majority() + 1 }

// healed gives the moments at which a fault of any kind that lasts ended, in
// order.
func (r *run) healed() []span {
	var points []span
	for _, f := range r.faults {
		if !f.open && f.until > f.from {
			points = append(points, span{f.until, f.until})
		}
	}
	return union(points)
}

// describe says what a fault did, for a sentence.
func (f fault) describe() string {
	done := map[string]string{
		"kill": "was killed", "shutdown": "was shut down", "power-loss": "lost power", "pause": "was paused",
		"cut": "was cut", "delay": "was delayed", "hold": "was held", "lose": "lost a message", "drop": "was dropped",
		"clock": "had its clock set", "flush": "was flushed", "fill": "had its memory filled", "fill-disk": "had its disk filled", "disconnect": "was disconnected", "promote": "was promoted",
	}[f.kind]
	if done == "" {
		done = "suffered " + f.kind
	}
	name := f.target
	if strings.Contains(name, "-") {
		name = "link " + name
	}
	return fmt.Sprintf("%s %s at %s", name, done, at(f.from))
}
