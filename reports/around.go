package reports

import (
	"errors"
	"math"
	"slices"

	"lockproof/checker"
	"lockproof/harness/history"
)

// mostAround is how many events are read around one violation of a long history:
// a drawing of more shows nothing.
const mostAround = 20_000

// leadIn is how many TTLs before a violation its events are read, so that keys and
// leases of before are seen to be taken.
const leadIn = 3

// window is what is read of a history around one violation.
type window struct {
	violation   checker.Violation // by the places of its events in the window
	from, until int64
	facts       map[int][]int // by place of an event in the history: the facts that are about it
	events      []history.Event
	full        bool
	begun       map[begun]bool
}

// begun is an operation or a command on a link whose end is to come.
type begun struct {
	process string
	number  int64
}

func newWindow(v checker.Violation, ttl int64) *window {
	w := &window{begun: map[begun]bool{}, violation: v, from: v.From, until: v.Until, facts: map[int][]int{}}
	w.violation.Facts = slices.Clone(v.Facts)
	for i, f := range v.Facts {
		w.facts[f.Event] = append(w.facts[f.Event], i)
		w.violation.Facts[i].Event = NoEvent
	}
	for _, l := range v.Leases {
		w.from, w.until = min(w.from, l.Asked), max(w.until, l.Until)
	}
	ttl = min(max(ttl, 0), math.MaxInt64/8)
	w.from, w.until = w.from-leadIn*ttl, w.until+ttl
	return w
}

// take keeps an event that the window is about: those of its time, and what faults
// and looks at nodes have set before.
func (w *window) take(place int, e *history.Event) {
	lasting := e.Type == history.TypeHeader || e.Type == history.TypeFault || e.Type == history.TypeNode || e.Type == history.TypeClock
	if e.Time > w.until || e.Time < w.from && !lasting && w.facts[place] == nil {
		return
	}
	if !w.whole(e) {
		return
	}
	if len(w.events) == mostAround {
		w.full = true
		return
	}
	for _, i := range w.facts[place] {
		w.violation.Facts[i].Event = len(w.events)
	}
	w.events = append(w.events, *e)
}

// whole is false of the end of what began before the window.
func (w *window) whole(e *history.Event) bool {
	of := begun{e.Process, int64(e.ID)}
	switch {
	case e.Command != nil:
		of.number = -1 - e.Command.Serial
	case e.Op == "":
		return true
	}
	if e.Type == history.TypeInvoke || e.Type == history.TypeCommand {
		w.begun[of] = true
		return true
	}
	return w.begun[of]
}

// story tells the violation by what was read around it.
func (w *window) story(h *History) (*Story, error) {
	if w.full {
		return nil, errors.New("too much happens around it")
	}
	part := &History{Events: w.events, lost: h.LostUpdates}
	for l := range h.Leases() {
		if l.Asked <= w.until && l.Until >= w.from {
			part.leases = append(part.leases, l)
		}
	}
	for t := range h.Tenures() {
		if t.From <= w.until && t.Until >= w.from {
			part.tenures = append(part.tenures, t)
		}
	}
	s := part.Tell(&w.violation)
	return &s, nil
}

// around reads what happened around violations from a history of any length.
func around(each checker.Source, violations []checker.Violation, ttl int64) ([]*window, error) {
	windows := make([]*window, len(violations))
	last := int64(math.MinInt64)
	for i, v := range violations {
		windows[i] = newWindow(v, ttl)
		last = max(last, windows[i].until)
	}
	place := 0
	err := each(func(e *history.Event) error {
		if e.Time > last {
			return errEnough
		}
		for _, w := range windows {
			w.take(place, e)
		}
		place++
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return windows, err
}

// errEnough ends a visit that has seen what it was for.
var errEnough = errors.New("seen enough")
