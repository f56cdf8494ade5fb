package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Writer writes a history as it happens, one JSON line an event. Every line
// reaches the underlying writer whole, in a single call, so that a killed run
// leaves all that it saw. A Writer may be used from any goroutine.
type Writer struct {
	mu      sync.Mutex
	out     io.Writer
	ordered bool
	closed  bool
	err     error // the first failure; nothing is written after it

	buf     []byte   // lines not yet handed over, in order of arrival
	instant int64    // latest time among the lines kept back
	pending []record // where those lines lie in buf; ordered mode only
	sorted  []byte   // the same lines in the order in which they are written
}

// record is one line that is kept back until its instant is over.
type record struct {
	time       int64
	rank       int // header before all else at its instant, end after it
	process    string
	start, end int // in Writer.buf
}

// NewWriter returns a Writer on w, which it does not close.
//
// With ordered false, for real time, events are written as they come, which may
// be slightly out of time order: Read sorts them.
//
// With ordered true, for virtual time, the events of one instant are kept back
// until time moves on, and are then written sorted by process; those of one
// process stay in order of arrival. In a bubble many goroutines run at one
// instant in an order of the scheduler's choosing, and this takes its choice
// out of the file: one seed gives one history, byte for byte. It needs each
// event to be written at the instant that it bears; one that comes later is
// still written, in the batch of the instant at which it came.
func NewWriter(w io.Writer, ordered bool) *Writer {
	return &Writer{out: w, ordered: ordered}
}

// Write adds an event. It returns nothing, so that it can serve as a recorder
// in the middle of a run; the first failure is kept for Close. Events that come
// after Close are dropped: the run that they belong to is over.
func (w *Writer) Write(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.err != nil {
		return
	}
	if w.ordered && len(w.pending) > 0 && e.Time > w.instant {
		w.flush()
	}
	start := len(w.buf)
	line, err := appendEvent(w.buf, &e)
	if err != nil {
		w.err = fmt.Errorf("the event of %s at %d ns cannot be written: %w", e.Process, e.Time, err)
		return
	}
	w.buf = line
	if !w.ordered {
		w.writeOut(w.buf)
		w.buf = w.buf[:0]
		return
	}
	if len(w.pending) == 0 || e.Time > w.instant {
		w.instant = e.Time
	}
	w.pending = append(w.pending, record{e.Time, rank(e.Type), e.Process, start, len(w.buf)})
}

// rank lets a header open its instant and an end close it.
func rank(t Type) int {
	switch t {
	case TypeHeader:
		return -1
	case TypeEnd:
		return 1
	}
	return 0
}

// flush writes what was kept back, sorted, in one call.
func (w *Writer) flush() {
	slices.SortStableFunc(w.pending, func(a, b record) int {
		return cmp.Or(
			cmp.Compare(a.time, b.time),
			cmp.Compare(a.rank, b.rank),
			cmp.Compare(a.process, b.process),
		)
	})
	w.sorted = w.sorted[:0]
	for _, r := range w.pending {
		w.sorted = append(w.sorted, w.buf[r.start:r.end]...)
	}
	w.writeOut(w.sorted)
	w.buf, w.pending = w.buf[:0], w.pending[:0]
}

// writeOut gives whole lines to the underlying writer and keeps its first failure.
func (w *Writer) writeOut(lines []byte) {
	if len(lines) == 0 || w.err != nil {
		return
	}
	n, err := w.out.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = fmt.Errorf("the history cannot be written: %w", err)
	}
}

// ErrClosed is what a second Close returns.
var ErrClosed = errors.New("the history is closed already")

// Close writes what is still kept back and returns the first failure of the
// Writer's life. It does not add the end event and does not close the
// underlying writer.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	w.closed = true
	if len(w.pending) > 0 {
		w.flush()
	}
	return w.err
}
