package reports

import (
	"errors"
	"fmt"
	"os"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input"
)

// History is a history for a report: its events and the checker's reading of them.
type History struct {
	*checker.History
	// Events is empty if the history is too long to draw.
	Events []history.Event
	// Cut is set if the last line is truncated, as by a killed run.
	Cut *history.Truncated

	header     history.Header
	leases     []checker.Lease
	ownerships []checker.Ownership
}

// NewHistory makes a history of events.
func NewHistory(events []history.Event) (*History, error) {
	read, err := checker.Read(checker.InMemory(events))
	if err != nil {
		return nil, err
	}
	return &History{
		History: read, Events: events, header: read.Header(),
		leases: read.Leases(), ownerships: read.Ownerships(),
	}, nil
}

// Held reports whether a client ever held a lease, or a node a key.
func (h *History) Held() bool { return len(h.leases)+len(h.ownerships) > 0 }

// drawnBytes bounds the size of a history that a report draws: some eighty thousand events. A larger drawing shows
// nothing, and needs memory that the run itself did not.
const drawnBytes = 16 << 20

var errTooLong = errors.New("too long to draw")

// isLong returns a history's size and whether it is too long to draw.
func isLong(path string) (megabytes int64, long bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Size() >> 20, info.Size() > drawnBytes
}

// readToDraw reads a history unless it is too long to draw.
func readToDraw(path string) (*History, error) {
	if megabytes, long := isLong(path); long {
		return nil, fmt.Errorf("%s is %w, with %d MB: lockproof check judges it and tells its first violations", path,
			errTooLong, megabytes)
	}
	return OpenHistory(path)
}

// OpenHistory reads a history from a file. It discards the events of one that is too long to draw.
func OpenHistory(path string) (*History, error) {
	file, err := history.OpenFile(path)
	var cut *history.Truncated
	if err != nil && !errors.As(err, &cut) {
		return nil, NameHistory(path, err)
	}
	source := func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		if errors.As(err, &cut) { // reported as Cut
			return nil
		}
		return err
	}
	h := &History{}
	if _, long := isLong(path); long {
		h.History, err = checker.Read(source)
	} else if err = source(func(e *history.Event) error { h.Events = append(h.Events, *e); return nil }); err == nil {
		h, err = NewHistory(h.Events)
	}
	if err != nil {
		return nil, NameHistory(path, err)
	}
	h.Cut = cut
	return h, nil
}

// NameHistory adds the path to an error of reading a history.
func NameHistory(path string, err error) error {
	var pathError *os.PathError
	var line *history.LineError
	var column *input.ColumnError
	var event *checker.EventError
	switch {
	case errors.As(err, &pathError):
		return fmt.Errorf("cannot read the history %s: %w", path, pathError.Err)
	case errors.As(err, &column) && errors.As(err, &line):
		return fmt.Errorf("%s:%d:%d: %s", path, line.Line, column.Column, column.What)
	case errors.As(err, &line):
		return fmt.Errorf("%s:%d: %w", path, line.Line, line.Err)
	case errors.As(err, &event):
		if number := history.LineOf(path, event.Event); number > 0 {
			return fmt.Errorf("%s:%d: %s", path, number, event.What)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}
