package history

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
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
	err := eachLine(r, func(l line) error {
		e, err := l.event()
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

// line is a line of a history.
type line struct {
	number int // from 1
	text   []byte
	*seal
}

// seal compares the lines of a file with its end.
type seal struct {
	before hash.Hash // of the lines so far
	ended  bool      // the end has stated their sum
}

// eachLine calls visit with every line. An incomplete last line is a Truncated.
func eachLine(r io.Reader, visit func(line) error) error {
	in, seal := input.NewLines(r), &seal{before: sha256.New()}
	for number := 1; ; number++ {
		text, err := in.Next()
		switch {
		case seal.ended && len(text) > 0:
			return &LineError{number, errors.New("the line is behind the end: the file was changed after the run")}
		case err == io.EOF && len(text) == 0:
			if number == 1 {
				return noHeader(nil)
			}
			return nil
		case err == io.EOF:
			if _, parseErr := parseLine(text); errors.Is(parseErr, io.ErrUnexpectedEOF) {
				cut := &Truncated{Line: number}
				if number == 1 {
					return noHeader(cut)
				}
				return cut
			}
			return visit(line{number, text, seal})
		case err != nil:
			return &LineError{number, fmt.Errorf("the history cannot be read: %w", err)}
		}
		if err := visit(line{number, text, seal}); err != nil {
			return err
		}
		seal.before.Write(text)
	}
}

// event parses and checks a line.
func (l line) event() (Event, error) {
	e, err := parseLine(l.text)
	if err == nil {
		err = checkHeaderPosition(&e, l.number)
	}
	if err == nil {
		err = l.check(&e)
	}
	if err != nil {
		return e, &LineError{l.number, err}
	}
	return e, nil
}

// check compares the sum that an end states with the lines before it. Other programs need not state one.
func (s *seal) check(e *Event) error {
	switch {
	case e.Type != TypeEnd || e.Sum == "":
	case e.Sum != sumOf(s.before):
		return errors.New("the lines before the end have another sum than it states: " +
			"the file was cut or changed after the run")
	default:
		s.ended = true
	}
	return nil
}

func sumOf(lines hash.Hash) string { return hex.EncodeToString(lines.Sum(nil)) }

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
