package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/lockproof/internal/input"
)

// Truncated is the error of a history whose last line is incomplete, as after a killed run. The events returned with
// it are complete; callers for which they suffice detect it with errors.As.
type Truncated struct {
	Line int // the incomplete one, from 1
}

func (t *Truncated) Error() string {
	return fmt.Sprintf("line %d is cut short: the run was killed while it wrote this line; the lines before it are whole",
		t.Line)
}

// LineError is a mistake in a line of a history, from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// Read reads a history and returns its events: the header, then the others sorted by time, those of one instant in the
// order of their lines.
//
// It is strict. Every line must be one event of a known type, without unknown fields and with its type's part:
// e.Command of a command, for example, is never nil. The error names the line, the mistake and what is accepted. The
// checker checks whether the events are consistent (an ok without its invoke).
func Read(r io.Reader) ([]Event, error) {
	var events []Event
	err := eachLine(r, func(number int, line []byte) error {
		e, err := parseAt(line, number)
		if err == nil {
			events = append(events, e)
		}
		return err
	})
	var cut *Truncated
	if err != nil && !errors.As(err, &cut) {
		return nil, err
	}
	slices.SortStableFunc(events[1:], func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	return events, err
}

func noHeader(cut *Truncated) error {
	if cut != nil {
		return &LineError{1, errors.New("the header is cut short, so that nothing can be judged; " +
			"a history begins with a whole header line: the run was killed too early")}
	}
	return &LineError{1, errors.New("the history is empty; it must begin with a header line")}
}

// eachLine calls visit with every line and its number, from 1. An incomplete last line is a Truncated.
func eachLine(r io.Reader, visit func(number int, line []byte) error) error {
	in := input.NewLines(r)
	for number := 1; ; number++ {
		line, err := in.Next()
		switch {
		case err == io.EOF && len(line) == 0:
			if number == 1 {
				return noHeader(nil)
			}
			return nil
		case err == io.EOF:
			if _, parseErr := parseLine(line); errors.Is(parseErr, io.ErrUnexpectedEOF) {
				cut := &Truncated{Line: number}
				if number == 1 {
					return noHeader(cut)
				}
				return cut
			}
			return visit(number, line)
		case err != nil:
			return &LineError{number, fmt.Errorf("the history cannot be read: %w", err)}
		}
		if err := visit(number, line); err != nil {
			return err
		}
	}
}

// parseAt parses and checks the line of that number.
func parseAt(line []byte, number int) (Event, error) {
	e, err := parseLine(line)
	if err == nil {
		err = checkHeaderPosition(&e, number)
	}
	if err != nil {
		return e, &LineError{number, err}
	}
	return e, nil
}

// checkHeaderPosition checks that the first line is the only header.
func checkHeaderPosition(e *Event, number int) error {
	switch {
	case number == 1 && e.Type != TypeHeader:
		return fmt.Errorf(`the history has no header, its first line is of type "%s"; `+
			`the first line must be of type "header", with what was run`, e.Type)
	case number > 1 && e.Type == TypeHeader:
		return errors.New("this is a second header; a history holds one run, whose header is line 1: " +
			"split files that were joined")
	}
	return nil
}

// parseLine parses and checks one line. The error of an incomplete line is io.ErrUnexpectedEOF.
func parseLine(line []byte) (Event, error) {
	var e Event
	if err := input.JSONLine(line, &e, "event"); err != nil {
		return e, err
	}
	return e, Validate(&e)
}
