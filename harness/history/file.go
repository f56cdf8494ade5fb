package history

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"example.org/lockproof/internal/input"
)

// File is a history in a file that need not fit into memory: Each visits the events that Read would return.
type File struct {
	name string
	late []Event // the events behind later ones, sorted by time: in real time several processes report
	skip []int   // the late events' line numbers, in order
}

// maxLateBytes bounds the lines of late events, which stay in memory: processes report only moments late.
const maxLateBytes = 16 << 20

// OpenFile scans a file for late events. It does not keep the file open.
func OpenFile(name string) (*File, error) {
	f := &File{name: name}
	latest, held := int64(0), 0
	err := f.lines(func(l line) error {
		if l.number == 1 { // the header comes first, whatever its time
			return nil
		}
		t, ok := timeOf(l.text)
		if !ok || t >= latest {
			latest = max(latest, t)
			return nil // Each reports a bad line
		}
		e, err := l.event()
		if err != nil {
			return err
		}
		if held += len(l.text); held > maxLateBytes {
			return &LineError{l.number, fmt.Errorf(
				"more than %d MB of events stand behind later ones: a process reports only moments late", maxLateBytes>>20)}
		}
		f.late = append(f.late, e)
		f.skip = append(f.skip, l.number)
		return nil
	})
	slices.SortStableFunc(f.late, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	return f, err
}

// timeOf parses only the time of a line.
func timeOf(line []byte) (int64, bool) {
	digits, ok := bytes.CutPrefix(line, []byte(`{"time":`))
	if !ok { // not written by Writer
		e, err := parseLine(line)
		return e.Time, err == nil
	}
	n := 0
	for n < len(digits) && digits[n] >= '0' && digits[n] <= '9' {
		n++
	}
	t, err := strconv.ParseInt(string(digits[:n]), 10, 64)
	return t, err == nil
}

// Each calls visit with every event: the header, then the others sorted by time, those of one instant in the order of
// their lines. It returns visit's errors and those of Read, with the line; a Truncated comes last.
func (f *File) Each(visit func(*Event) error) error {
	late, skip := f.late, f.skip
	err := f.lines(func(l line) error {
		if len(skip) > 0 && skip[0] == l.number {
			skip = skip[1:]
			return nil
		}
		e, err := l.event()
		if err != nil {
			return err
		}
		for l.number > 1 && len(late) > 0 && late[0].Time < e.Time {
			next := late[0]
			late = late[1:]
			if err := visit(&next); err != nil {
				return err
			}
		}
		return visit(&e)
	})
	var cut *Truncated
	if err != nil && !errors.As(err, &cut) {
		return err
	}
	for ; len(late) > 0; late = late[1:] { // later than the last line
		next := late[0]
		if err := visit(&next); err != nil {
			return err
		}
	}
	return err
}

func (f *File) lines(visit func(line) error) error {
	file, err := input.Open(f.name)
	if err != nil {
		return err
	}
	defer file.Close()
	return eachLine(file, visit)
}

// LineOf returns the line of an event of a file, by its place in the order of Read, from 0. It is 0 if there is none.
func LineOf(name string, event int) int {
	type place struct {
		time int64
		line int
	}
	var all []place
	err := (&File{name: name}).lines(func(l line) error {
		t, _ := timeOf(l.text)
		all = append(all, place{t, l.number})
		return nil
	})
	var cut *Truncated
	if err != nil && !errors.As(err, &cut) || event < 0 || event >= len(all) {
		return 0
	}
	slices.SortStableFunc(all[1:], func(a, b place) int { return cmp.Compare(a.time, b.time) })
	return all[event].line
}
