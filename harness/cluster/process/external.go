package process

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/locks"
)

const (
	// helloTimeout bounds the time from an external worker's start to its hello.
	helloTimeout = 10 * time.Second
	maxLine      = 64 << 10 // bytes of a worker's line
	// outputTimeout bounds the time between the ends of a worker and of its outputs, in either order.
	outputTimeout = time.Second
)

// awaitHello waits for an external worker's hello.
func (w *Worker) awaitHello() error {
	if w.checker == nil {
		return nil
	}
	late := time.NewTimer(helloTimeout)
	defer late.Stop()
	select {
	case <-w.greeted:
	case <-late.C:
		return w.missingHello()
	}
	if w.checker.Hello() != nil {
		return nil
	}
	<-w.drained
	if w.breach.Load() != nil {
		return w.endError()
	}
	return fmt.Errorf("before its hello, %w", w.endError())
}

// missingHello kills the worker and describes its output.
func (w *Worker) missingHello() error {
	wrote := "nothing"
	if err := w.Kill(); err != nil {
		return err
	}
	if text := w.Unfinished(); text != "" {
		wrote = fmt.Sprintf("%q without a newline at its end", text)
	}
	return fmt.Errorf(`worker %s (pid %d) wrote %s in %s: its first message must be its hello, {"lock":{...}} on a `+
		`line of its own, flushed at once; on stderr it said: %s`,
		w.name, w.proc.PID(), wrote, helloTimeout, w.stderr.end())
}

// Hello is the description of an external worker's lock.
func (w *Worker) Hello() *locks.Abilities { return w.checker.Hello() }

// shortened is the part of a line that an error quotes.
func shortened(line []byte) string {
	const most = 300
	if len(line) > most {
		return string(line[:most]) + "..."
	}
	return strings.TrimSuffix(string(line), "\n")
}

// tailWriter keeps the last maxLastWords bytes, where a crash names its reason.
type tailWriter struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tailWriter) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-maxLastWords):]...)
	t.kept = slices.Delete(t.kept, 0, max(0, len(t.kept)-maxLastWords))
	return len(b), nil
}

// end is the end of the output, for an error.
func (t *tailWriter) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return LastWords(t.kept)
}
