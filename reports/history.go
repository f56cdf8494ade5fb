package reports

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input"
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

// length is a file's, in bytes; 0 if there is none.
func length(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// readToDraw reads the history in a file, unless it is too long to be drawn.
func readToDraw(path string) (*History, error) {
	if n := length(path); n > drawable {
		return nil, fmt.Errorf("%s is %w, with %d MB: lockproof check judges it and tells its first violations", path,
			errTooLong, n>>20)
	}
	f, err := input.Open(path)
	if err != nil {
		return nil, nameHistory(path, err)
	}
	defer f.Close()
	events, err := history.Read(f)
	var cut *history.Truncated
	if err != nil && !errors.As(err, &cut) {
		return nil, nameHistory(path, err)
	}
	h, err := NewHistory(events)
	if err != nil {
		return nil, nameHistory(path, err)
	}
	h.Cut = cut
	return h, nil
}

// OpenHistory reads the history in a file. Of one that is too long to be drawn it
// does not keep the events, and nothing is drawn of it.
func OpenHistory(path string) (*History, error) {
	if length(path) <= drawable {
		return readToDraw(path)
	}
	file, err := history.OpenFile(path)
	h := &History{}
	if err != nil && !errors.As(err, &h.Cut) {
		return nil, nameHistory(path, err)
	}
	source := func(visit func(*history.Event) error) error {
		err := file.Each(visit)
		var cut *history.Truncated
		if errors.As(err, &cut) { // it has been told
			return nil
		}
		return err
	}
	if h.History, err = checker.Read(source); err != nil {
		return nil, nameHistory(path, err)
	}
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
