package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/locks"
)

const (
	// helloWithin is how long a program of others may take from its start to its hello.
	helloWithin = 10 * time.Second
	// lineAtMost is how long a line of its may be, in bytes.
	lineAtMost = 64 << 10
	// stderrAtMost is how much of what it says on stderr is kept, in bytes.
	stderrAtMost = 1 << 20
	// endWithin is how long those that it has started may keep its outputs open.
	endWithin = time.Second
)

// guard minds what a worker says that is not ours.
type guard struct {
	conduct *client.ProtocolChecker
	greeted chan struct{} // closed at its hello, or when there is none to come

	mu    sync.Mutex
	wrong error // what it said that breaks the protocol
}

func newGuard(setup client.Setup) *guard {
	return &guard{conduct: client.NewProtocolChecker(setup, realtime.Since(setup.Epoch).Now), greeted: make(chan struct{})}
}

func (g *guard) violation() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wrong
}

// awaitHello returns once a stranger has said what its lock is.
func (w *Worker) awaitHello() error {
	if w.guard == nil {
		return nil
	}
	late := time.NewTimer(helloWithin)
	defer late.Stop()
	select {
	case <-w.guard.greeted:
	case <-late.C:
		return fmt.Errorf("worker %s (pid %d) has said nothing for %s: its first message is to be its hello, "+
			"{\"lock\":{...}}; on stderr it said: %s",
			w.name, w.proc.id.PID, helloWithin, Tail(w.stderr))
	}
	if w.guard.conduct.Hello() != nil {
		return nil
	}
	<-w.heard
	if err := w.guard.violation(); err != nil {
		return err
	}
	return w.exitReport()
}

// Hello is what a stranger has said of its lock.
func (w *Worker) Hello() *locks.Abilities { return w.guard.conduct.Hello() }

// readExternal passes on what a stranger says until it has ended, or has said what
// breaks the protocol: then it is killed, and the error says what it was.
func (w *Worker) readExternal(out *os.File, messages func(client.Message)) error {
	greeted := sync.OnceFunc(func() { close(w.guard.greeted) })
	defer greeted()
	go func() { // whoever it has started and left behind is not waited for
		<-w.proc.gone
		_ = out.SetReadDeadline(time.Now().Add(endWithin))
	}()
	wrong := w.pass(out, messages, greeted)
	if wrong == nil {
		wrong = w.helloTimeout()
	}
	if wrong != nil {
		wrong = fmt.Errorf("worker %s %w", w.name, wrong)
		w.guard.mu.Lock()
		w.guard.wrong = wrong
		w.guard.mu.Unlock()
		_ = w.proc.Kill() // it is reaped by who reads
	}
	return wrong
}

// helloTimeout returns once the worker whose output has ended is gone. One that runs on,
// though nobody has told it to end, will never be heard again: that is the error.
func (w *Worker) helloTimeout() error {
	late := time.NewTimer(endWithin)
	defer late.Stop()
	select {
	case <-w.proc.gone:
		return nil
	case <-late.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending {
		return nil
	}
	return errors.New("has closed its standard output, and runs on: nothing that it does can be known")
}

// pass hands on each line that is a message in its place; the error is about the
// first that is none.
func (w *Worker) pass(out io.Reader, messages func(client.Message), greeted func()) error {
	lines := bufio.NewReaderSize(out, lineAtMost)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("wrote a line of more than %d bytes, which begins with %q", lineAtMost, shortened(line))
		}
		if err != nil {
			return nil // it has closed its end; what is left is a cut line
		}
		m, err := w.guard.conduct.Parse(line)
		if err != nil {
			return fmt.Errorf("wrote %q, %w", shortened(line), err)
		}
		if m.Done == 0 && m.Error != "" {
			return fmt.Errorf("gave up: %s", shortened([]byte(m.Error)))
		}
		if m.Lock != nil {
			greeted()
			continue
		}
		if !w.isOwnExit(m) {
			messages(m)
		}
	}
}

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
