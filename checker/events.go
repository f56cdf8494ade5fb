package checker

import (
	"errors"
	"slices"

	"lockproof/harness/history"
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

// rare is an event of a kind that a history has few of: no operation, command
// or reply. Only these are kept as they are.
type rare struct {
	index int
	history.Event
}

// events are a history's events: the rare ones at hand, the others by going through
// the source again.
type events struct {
	source Source
	rare   []rare
}

// keep keeps a rare event.
func (es *events) keep(index int, e *history.Event) { es.rare = append(es.rare, rare{index, *e}) }

// event gives a rare event by its index in the history.
func (es *events) event(index int) *history.Event {
	i, found := slices.BinarySearchFunc(es.rare, index, func(e rare, index int) int { return e.index - index })
	if !found {
		panic("checker: an event was not kept") // a bug: ask for faults, looks and notes only
	}
	return &es.rare[i].Event
}

// errEnough ends a visit that has seen what it was for.
var errEnough = errors.New("seen enough")

// visit hands every event with its index to f, until f returns false.
func (es *events) visit(f func(index int, e *history.Event) bool) error {
	index := 0
	err := es.source(func(e *history.Event) error {
		if !f(index, e) {
			return errEnough
		}
		index++
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}
