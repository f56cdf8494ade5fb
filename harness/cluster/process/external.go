package process

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/locks"
)

const (
	// helloWithin is how long a program of others may take from its start to its hello.
	helloWithin = 10 * time.Second
	// lineAtMost is how long a line of a worker may be, in bytes.
	lineAtMost = 64 << 10
	// stderrAtMost is how much of what it says on stderr is kept, in bytes.
	stderrAtMost = 1 << 20
	// endWithin is how long those that a worker has started may keep its outputs open.
	endWithin = time.Second
)

// awaitHello returns once a stranger has said what its lock is.
func (w *Worker) awaitHello() error {
	if w.checker == nil {
		return nil
	}
	late := time.NewTimer(helloWithin)
	defer late.Stop()
	select {
	case <-w.greeted:
	case <-late.C:
		return fmt.Errorf("worker %s (pid %d) has said nothing for %s: its first message must be its hello, "+
			"{\"lock\":{...}}; on stderr it said: %s",
			w.name, w.proc.id.PID, helloWithin, w.stderr.end())
	}
	if w.checker.Hello() != nil {
		return nil
	}
	<-w.heard
	if w.wrong != nil {
		return w.wrong
	}
	return w.exitReport()
}

// Hello is what a stranger has said of its lock.
func (w *Worker) Hello() *locks.Abilities { return w.checker.Hello() }

// shortened is as much of a line as an error quotes.
func shortened(line []byte) string {
	const most = 300
	if len(line) > most {
		return string(line[:most]) + "..."
	}
	return strings.TrimSuffix(string(line), "\n")
}

// headWriter keeps as much as there is room for, and drops the rest.
type headWriter struct {
	mu   sync.Mutex
	kept []byte
}

func (h *headWriter) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, b[:min(len(b), stderrAtMost-len(h.kept))]...)
	return len(b), nil
}

// end is the end of that, for an error.
func (h *headWriter) end() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return LastWords(h.kept)
}
