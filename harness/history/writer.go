package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"example.org/lockproof/internal/input"
)

// Writer writes a history event by event, one JSON line each. Each line is one call of the underlying writer, so that
// a killed run loses no event. Events may be slightly out of order: Read sorts them. It is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	out    io.Writer
	sum    hash.Hash // of the lines so far
	end    *Event    // written by Close: other processes' events may come late
	closed bool
	err    error // the first failure, which ends the writing
}

// NewWriter returns a Writer on w, which it does not close.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w, sum: sha256.New()} }

// Continue writes further lines to another writer on the same file.
func (w *Writer) Continue(out io.Writer) { w.out = out }

// Write adds an event. It returns no error, so that it can serve as a recorder; Close returns the first failure.
// Events after Close are dropped: their run is over.
func (w *Writer) Write(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed || w.err != nil:
	case e.Type == TypeEnd:
		w.end = &e
	default:
		w.write(e)
	}
}

func (w *Writer) write(e Event) {
	line, err := lineOf(&e)
	if err != nil {
		w.err = fmt.Errorf("the event of %s at %d ns cannot be written: %w", e.Process, e.Time, err)
		return
	}
	w.sum.Write(line)
	n, err := w.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	w.err = Unwritten(err)
}

// Unwritten is an error of writing a history, nil for nil. It does not name the file: trials that fail for one reason
// have one text.
func Unwritten(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the history cannot be written: %w", input.Cause(err))
}

// lineOf is an event's line, with its newline. Scripts and keys are easier to read without HTML escapes.
func lineOf(e *Event) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	return line.Bytes(), err
}

// ErrClosed is the error of a second Close.
var ErrClosed = errors.New("the history is closed already")

// Close writes the end event, if there is one, with its Sum, and returns the first failure. It does not close the
// underlying writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.closed = true
	if w.end != nil && w.err == nil {
		w.end.Sum = sumOf(w.sum)
		w.write(*w.end)
	}
	return w.err
}
