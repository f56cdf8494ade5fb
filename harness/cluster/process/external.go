package process

import (
	"fmt"
	"os"
	"strings"
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
		return fmt.Errorf("worker %s (pid %d) has said nothing for %s: its first message is to be its hello, "+
			"{\"lock\":{...}}; on stderr it said: %s",
			w.name, w.proc.id.PID, helloWithin, Tail(w.stderr))
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

// headWriter keeps in a file as much as there is left for, and drops the rest.
type headWriter struct {
	file string
	left int
}

func (f *headWriter) Write(b []byte) (int, error) {
	kept := b[:min(len(b), f.left)]
	f.left -= len(kept)
	if len(kept) == 0 {
		return len(b), nil
	}
	log, err := os.OpenFile(f.file, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return len(b), nil // the run's folder is gone, and with it who would read this
	}
	defer log.Close()
	_, err = log.Write(kept)
	return len(b), err
}
