package reports

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// History is a history that is told: what the checker made of it, and its events.
type History struct {
	*checker.History
	// Events are there unless the history is too long to be drawn.
	Events []history.Event
	// Cut says that the last line is cut short, as a killed run leaves it; nil if the
	// history is whole.
	Cut *history.Truncated

	header  history.Header
	leases  []checker.Lease
	tenures []checker.Tenure
}

// NewHistory reads events.
func NewHistory(events []history.Event) (*History, error) {
	read, err := checker.Read(checker.InMemory(events))
	if err != nil {
		return nil, err
	}
	return &History{
		History: read, Events: events, header: read.Header(),
		leases: slices.Collect(read.Leases()), tenures: slices.Collect(read.Tenures()),
	}, nil
}

// Held reports whether anybody ever had the lock, or a key on a node.
func (h *History) Held() bool { return len(h.leases)+len(h.tenures) > 0 }

// drawable is how long a history may be, in bytes, for a report to draw it: some
// eighty thousand events. A drawing of more shows nothing, and takes memory that
// the run itself was spared.
const drawable = 16 << 20

// errTooLong is that of a history that is too long to be drawn.
var errTooLong = errors.New("too long to draw")

// isLong reports whether a history is too long to be drawn, and its megabytes.
func isLong(path string) (megabytes int64, long bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Size() >> 20, info.Size() > drawable
}

// readToDraw reads the history in a file, unless it is too long to be drawn.
func readToDraw(path string) (*History, error) {
	if megabytes, long := isLong(path); long {
		return nil, fmt.Errorf("%s is %w, with %d MB: lockproof check judges it and tells its first violations", path,
			errTooLong, megabytes)
	}
	return OpenHistory(path)
}

// OpenHistory reads the history in a file. Of one that is too long to be drawn it
// does not keep the events, and nothing is drawn of it.
func OpenHistory(path string) (*History, error) {
	file, err := history.OpenFile(path)
	var cut *history.Truncated
	if err != nil && !errors.As(err, &cut) {
		return nil, nameHistory(path, err)
	}
	source := func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		if errors.As(err, &cut) { // it is told by Cut
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
		return nil, nameHistory(path, err)
	}
	h.Cut = cut
	return h, nil
}

// nameHistory adds a history's path to an error that came of reading it.
func nameHistory(path string, err error) error {
	var pathError *os.PathError
	if errors.As(err, &pathError) {
		return fmt.Errorf("cannot read the history %s: %w", path, pathError.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}
