package checker

import (
	"errors"
	"slices"

	"example.org/lockproof/harness/history"
)

// Source is a history that is read more than once and need not be in memory: it
// hands each event, in the order of time and the header first, to visit, and
// ends with visit's error or its own. The event is visit's until visit returns;
// what its pointers lead to may be kept.
type Source func(visit func(*history.Event) error) error

// InMemory is a history that has been read.
func InMemory(events []history.Event) Source {
	return func(visit func(*history.Event) error) error {
		for i := range events {
			if err := visit(&events[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// keptEvent is what is kept of an event of a kind that a history has few of: a fault, a
// look, a stall, or a step of the script that did not come out as it had to.
type keptEvent struct {
	index   int
	time    int64
	process string
	fault   *history.Fault // without what was asked for and measured, in words
	node    *history.Node  // without its keys
	late    int64          // of a stall
	unmet   string         // which step, and how it came out
}

// lastLook is the last look into a node that was up.
type lastLook struct {
	index int
	time  int64
	keys  map[string]history.KeyState
}

// events are a history's events: the rare ones at hand, the others by going through
// the source again.
type events struct {
	source Source
	kept   []*keptEvent
	looks  map[string]lastLook // by node
}

// keep keeps an event if it is a rare one. What nobody judges by is let go: of a long
// history it would be most of what is kept.
func (es *events) keep(index int, e *history.Event) {
	kept := keptEvent{index: index, time: e.Time, process: e.Process}
	switch {
	case e.Type == history.TypeFault && e.Fault != nil:
		kept.fault = lean(e.Fault)
	case e.Type == history.TypeNode && e.Node != nil:
		if e.Node.Up {
			es.looks[e.Process] = lastLook{index, e.Time, e.Node.Keys}
		}
		node := *e.Node
		node.Keys = nil
		kept.node = &node
	case e.Type == history.TypeStall:
		kept.late = e.Late
	case e.Type == history.TypeNote && e.Reason == history.ReasonPreconditionFailed:
		kept.unmet = e.Text
	default:
		return
	}
	es.kept = append(es.kept, &kept)
}

// event gives a rare event by its index in the history.
func (es *events) event(index int) *keptEvent {
	at := func(e *keptEvent, index int) int { return e.index - index }
	if i, found := slices.BinarySearchFunc(es.kept, index, at); found {
		return es.kept[i]
	}
	panic("checker: an event was not kept") // a bug: ask for faults and looks only
}

// errStopVisit ends a visit that has seen what it was for.
var errStopVisit = errors.New("seen enough")

// visit hands every event with its index to f, until f returns false.
func (es *events) visit(f func(index int, e *history.Event) bool) error {
	index := 0
	err := es.source(func(e *history.Event) error {
		if !f(index, e) {
			return errStopVisit
		}
		index++
		return nil
	})
	if errors.Is(err, errStopVisit) {
		return nil
	}
	return err
}
