package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"

	"example.org/lockproof/harness/cluster/realtime"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input"
)

// longestLine bounds a line to a worker, in bytes.
const longestLine = 1 << 20

// ServeWorker is the main function of a client's process. It reads a Setup and then Commands from in, one JSON object
// a line, and writes Messages to out, each in one write. It ends with DoExit or at the end of in, so with its harness.
// An invalid line ends it with an error, which it also sends as a Message.
func ServeWorker(in io.Reader, out io.Writer) error {
	w := &workerProcess{lines: bufio.NewScanner(in), out: out}
	w.lines.Buffer(make([]byte, 4096), longestLine)
	err := w.serve()
	if err != nil {
		w.write(Message{Error: err.Error()})
	}
	return errors.Join(err, w.broken())
}

type workerProcess struct {
	lines  *bufio.Scanner
	number int // of the latest line

	mu     sync.Mutex
	out    io.Writer
	failed error // the first write that failed
}

func (w *workerProcess) serve() error {
	line, err := w.next()
	if err != nil {
		return err
	}
	if line == nil {
		return errors.New("line 1: the input ended before the setup")
	}
	var setup Setup
	if err := input.JSONLine(line, &setup, "setup"); err != nil {
		return w.wrong(line, err)
	}
	if runtime.GOOS != "linux" { // only its CLOCK_MONOTONIC is tested
		return fmt.Errorf("workers need Linux, and this is %s: run the scenario --on virtual", runtime.GOOS)
	}
	clock := realtime.Since(setup.Epoch)
	timers := scheduler.RealTime()
	defer timers.End()
	c, err := New(setup, Env{Dial: new(net.Dialer).DialContext, Now: clock.Now, Scheduler: timers}, w.write)
	if err != nil {
		return err
	}
	if setup.StallLimit > 0 {
		defer w.watchStalls(setup, clock)()
	}
	exit, err := w.readCommands(c)
	err = errors.Join(err, c.Close())
	if exit != 0 {
		w.write(Message{Done: exit})
	}
	return err
}

// readCommands forwards commands until exit, whose serial it returns, or the end of the input.
func (w *workerProcess) readCommands(c *Client) (exit int, err error) {
	for {
		line, err := w.next()
		if line == nil || err != nil {
			return 0, err
		}
		var cmd Command
		if err = input.JSONLine(line, &cmd, "command"); err == nil {
			if err = cmd.check(); err == nil && cmd.Do == DoExit {
				return cmd.Serial, nil
			}
		}
		if err == nil {
			err = c.Send(cmd)
		}
		if err != nil {
			return 0, w.wrong(line, err)
		}
	}
}

// next returns the next line, nil at the end of the input.
func (w *workerProcess) next() ([]byte, error) {
	w.number++
	if w.lines.Scan() {
		return append([]byte{}, w.lines.Bytes()...), nil
	}
	if err := w.lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", w.number, err)
	}
	return nil, nil
}

// wrong adds the line, shortened, to an error.
func (w *workerProcess) wrong(line []byte, err error) error {
	const shown = 200
	if len(line) > shown {
		line = append(line[:shown:shown], "..."...)
	}
	return fmt.Errorf("line %d, %q: %w", w.number, line, err)
}

func (w *workerProcess) write(m Message) {
	if m.Event != nil {
		m.Event.MakeText()
	}
	line, err := json.Marshal(m)
	if err != nil {
		err = fmt.Errorf("encode a message: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	if err != nil && w.failed == nil {
		w.failed = fmt.Errorf("worker: %w", err)
	}
}

func (w *workerProcess) broken() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// watchStalls reports the lateness of the process itself until end is called. It cannot distinguish a stall from an
// injected SIGSTOP: the checker ignores stalls that overlap a pause of this client.
func (w *workerProcess) watchStalls(setup Setup, clock realtime.Clock) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() {
		clock.Watch(ctx, setup.Name, setup.StallLimit, func(e history.Event) { w.write(Message{Event: &e}) })
	})
	return func() { cancel(); watching.Wait() }
}
