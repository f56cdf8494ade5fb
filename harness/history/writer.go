package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Writer writes a history as it happens, one JSON line an event. Every line
// reaches the underlying writer whole, in a single call, so that a killed run
// leaves all that it saw. Events may come slightly out of time order: Read sorts
// them. A Writer may be used from any goroutine.
type Writer struct {
	mu     sync.Mutex
	out    io.Writer
	closed bool
	err    error // the first failure; nothing is written after it
}

// NewWriter returns a Writer on w, which it does not close.
func NewWriter(w io.Writer) *Writer { return &Writer{out: w} }

// Write adds an event. It returns nothing, so that it can serve as a recorder
// in the middle of a run; the first failure is kept for Close. Events that come
// after Close are dropped: the run that they belong to is over.
func (w *Writer) Write(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.err != nil {
		return
	}
	line, err := lineOf(&e)
	if err != nil {
		w.err = fmt.Errorf("the event of %s at %d ns cannot be written: %w", e.Process, e.Time, err)
		return
	}
	n, err := w.out.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("the history cannot be written: %w", err)
	}
}

// lineOf gives an event as one line, newline included. Scripts and keys are easier to read without HTML escapes.
func lineOf(e *Event) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(e)
	return line.Bytes(), err
}

// ErrClosed is what a second Close returns.
var ErrClosed = errors.New("the history is closed already")

// Close returns the first failure of the Writer's life. It does not add the end event and does not close the
// underlying writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.closed = true
	return w.err
}
