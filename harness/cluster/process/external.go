package process

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/locks"
)

const (
	// helloTimeout bounds the time from an external worker's start to its hello.
	helloTimeout = 10 * time.Second
	maxLine      = 64 << 10 // bytes of a worker's line
	maxStderr    = 1 << 20  // kept bytes of a worker's stderr
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
		return fmt.Errorf("worker %s (pid %d) has said nothing for %s: its first message must be its hello, "+
			"{\"lock\":{...}}; on stderr it said: %s",
			w.name, w.proc.id.PID, helloTimeout, w.stderr.end())
	}
	if w.checker.Hello() != nil {
		return nil
	}
	<-w.drained
	if w.breach != nil {
		return w.breach
	}
	return w.exitReport()
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

// headWriter keeps the first maxStderr bytes.
type headWriter struct {
	mu   sync.Mutex
	kept []byte
}

func (h *headWriter) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, b[:min(len(b), maxStderr-len(h.kept))]...)
	return len(b), nil
}

// end is the end of the kept bytes, for an error.
func (h *headWriter) end() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return LastWords(h.kept)
}
