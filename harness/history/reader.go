package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.org/lockproof/internal/input"
)

// Truncated says that the last line of a history is cut short, as a killed run
// leaves it. The events returned with it are whole; callers who can do with
// them look for it with errors.As and go on.
type Truncated struct {
	Line int // of the cut, from 1
}

func (t *Truncated) Error() string {
	return fmt.Sprintf("line %d is cut short: the run was killed while it wrote this line; the lines before it are whole",
		t.Line)
}

// Read reads a history and returns its events: the header, then the others
// sorted by time, those of one instant in the order of their lines.
//
// It is strict. Every line must be one event of a known type, with no field
// that is not of this format and with the part that its type is about, so that
// e.Command of a command, say, is never nil. The error names the line, what is
// wrong with it and what would be right. Whether the events make sense together
// (an ok without its invoke) is for the checker to say.
func Read(r io.Reader) ([]Event, error) {
	events, err := readLines(input.NewLines(r))
	var cut *Truncated
	if err != nil && !errors.As(err, &cut) {
		return nil, err
	}
	if len(events) == 0 {
		return nil, noHeader(cut)
	}
	slices.SortStableFunc(events[1:], func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	return events, err
}

func noHeader(cut *Truncated) error {
	if cut != nil {
		return errors.New("line 1: the header is cut short, so that nothing can be judged; " +
			"a history begins with a whole header line: the run was killed too early")
	}
	return errors.New("line 1: the history is empty; it must begin with a header line")
}

// readLines reads the events in the order of their lines.
func readLines(in *input.Lines) ([]Event, error) {
	var events []Event
	for number := 1; ; number++ {
		line, err := in.Next()
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("line %d: the history cannot be read: %w", number, err)
		}
		last := err == io.EOF
		if last && len(line) == 0 {
			return events, nil
		}
		e, err := parseLine(line)
		if last && errors.Is(err, io.ErrUnexpectedEOF) {
			return events, &Truncated{Line: number}
		}
		if err == nil {
			err = checkHeaderPosition(&e, number)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		events = append(events, e)
		if last {
			return events, nil
		}
	}
}

// checkHeaderPosition checks that a header is the first line, and nothing else is.
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

// parseLine decodes and checks one line. A line that ends too early gives an
// error that is io.ErrUnexpectedEOF.
func parseLine(line []byte) (Event, error) {
	e, plain := parseFast(line)
	if !plain {
		var err error
		if e, err = parseJSON(line); err != nil {
			return e, err
		}
	}
	return e, validate(&e)
}

// parseJSON decodes one line, however it is written.
func parseJSON(line []byte) (Event, error) {
	var e Event
	if len(bytes.TrimSpace(line)) == 0 {
		return e, errors.New("the line is empty; each line holds one event, a JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return e, describeJSONError(line, err)
	}
	if rest := bytes.TrimSpace(line[dec.InputOffset():]); len(rest) > 0 {
		return e, fmt.Errorf("column %d: there is more after the event; each line holds one JSON object and no more",
			dec.InputOffset()+1)
	}
	return e, nil
}
