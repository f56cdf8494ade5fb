package checker

import "example.org/lockproof/harness/history"

// Source is a history that is read twice and need not be in memory: it
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
