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

// event gives a rare event by its index in the history.
func (r *run) event(index int) *history.Event {
	i, found := slices.BinarySearchFunc(r.rare, index, func(e rare, index int) int { return e.index - index })
	if !found {
		panic("checker: an event was not kept") // a bug: ask for faults, looks and notes only
	}
	return &r.rare[i].Event
}

// errEnough ends a visit that has seen what it was for.
var errEnough = errors.New("seen enough")

// visit hands every event with its index to f, until f returns false.
func (r *run) visit(f func(index int, e *history.Event) bool) error {
	index := 0
	err := r.input(func(e *history.Event) error {
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

// fail keeps an error of reading the history again.
func (r *run) fail(err error) {
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.failure = err
	}
}

// locate fills in when and to whom the events happened that are blamed: of most
// events nothing but the index has been kept.
func (r *run) locate() error {
	blames := r.blames
	slices.SortFunc(blames, func(a, b *Blame) int { return a.Event - b.Event })
	return r.visit(func(i int, e *history.Event) bool {
		for len(blames) > 0 && blames[0].Event == i {
			blames[0].Time, blames[0].Process = e.Time, e.Process
			if e.Type == history.TypeFault && len(e.Fault.Targets) > 0 {
				blames[0].Process = e.Fault.Targets[0]
			}
			blames = blames[1:]
		}
		return len(blames) > 0
	})
}

// deletion is a command that deletes a key, as it reached a node or was
// answered there.
type deletion struct {
	link, token string
	time        int64
	event       int
	answered    bool
}

// deletions collects all deletions, which only few blames need.
func (r *run) deletions() []deletion {
	r.deleting.Do(func() { r.fail(r.readDeletions()) })
	return r.deleted
}

func (r *run) readDeletions() error {
	return r.visit(func(i int, e *history.Event) bool {
		if (e.Type == history.TypeCommand || e.Type == history.TypeReply) && e.Command != nil && e.Command.Effect == history.EffectDelete {
			r.deleted = append(r.deleted, deletion{e.Process, e.Command.Token, e.Time, i, e.Type == history.TypeReply})
		}
		return true
	})
}
