package process

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/realtime"
)

// Worker is a client in a process of its own, which speaks the protocol of
// package client on its stdin and stdout.
type Worker struct {
	name   string
	proc   *Process
	stderr headWriter    // what it says there
	heard  chan struct{} // closed once its last message has been passed on
	settle func() error  // of its cluster
	// checker is of what a stranger says, nil: it is none; greeted is closed at its hello, or when there is none to come.
	checker *client.ProtocolChecker
	greeted chan struct{}
	wrong   error // what it said that breaks the protocol; read after heard

	mu     sync.Mutex
	in     *os.File
	ending bool // it has been told to end, or killed
}

var _ client.Worker = (*Worker)(nil)

// exitSerial is that of Close's own command: no run gives so many.
const exitSerial = 1_000_000_000

// closeWithin is how long a worker may take to end in good order.
const closeWithin = 10 * time.Second

// sendWithin is how long a worker may leave a command unread while its pipe is
// full.
const sendWithin = 5 * time.Second

// Workers starts the clients of a cluster, each in a process of its own.
type Workers struct {
	// Command is a client's command line, without input: it serves the protocol
	// of package client on its stdin and stdout. Empty means this program with
	// the argument "worker".
	Command []string
	// External: Command is a program of others. It begins with its hello, what it says
	// is checked, and one that breaks the protocol is killed and has failed.
	External bool
	Record   *Record
	// Settle returns once what has passed over their links has been recorded; nil: it has.
	Settle func() error

	mu     sync.Mutex
	closed bool
	all    []*Worker
}

// ErrClosed says that the cluster has been closed.
var ErrClosed = errors.New("the cluster is closed")

// Spawn starts a client's process and hands it its setup, which is complete. A
// message with an Error and no Done says that the process ended unexpectedly,
// or wrote what is no message. messages must not call Kill or Close: they wait
// for it.
func (s *Workers) Spawn(setup client.Setup, messages func(client.Message)) (*Worker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, ErrClosed)
	}
	w, err := s.start(setup, messages)
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	s.all = append(s.all, w)
	if err := w.write(setup); err != nil {
		return nil, errors.Join(err, w.Kill())
	}
	if err := w.awaitHello(); err != nil {
		return nil, errors.Join(err, w.Kill())
	}
	return w, nil
}

// Close kills all of them and returns once they are gone and have been heard.
func (s *Workers) Close() error {
	s.mu.Lock()
	s.closed = true
	all := s.all
	s.mu.Unlock()
	var errs []error
	for _, w := range all {
		errs = append(errs, w.Kill())
	}
	return errors.Join(errs...)
}

// command is the command line of a worker.
func (s *Workers) command() ([]string, error) {
	if len(s.Command) > 0 {
		return s.Command, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this program to run it as a client: %w", err)
	}
	return []string{self, "worker"}, nil
}

// start starts the process and listens to it.
func (s *Workers) start(setup client.Setup, messages func(client.Message)) (*Worker, error) {
	command, err := s.command()
	if err != nil {
		return nil, err
	}
	name := setup.Name
	w := &Worker{name: name, heard: make(chan struct{}), greeted: make(chan struct{}), settle: s.Settle}
	if s.External {
		w.checker = client.NewProtocolChecker(setup, realtime.Since(setup.Epoch).Now)
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()

	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirIn, theirOut, &w.stderr, endWithin
	if w.proc, err = launch("worker "+name, cmd, s.Record, true); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	w.in = in
	go w.readMessages(out, messages)
	return w, nil
}

// Process is the worker's.
func (w *Worker) Process() *Process { return w.proc }

// readMessages passes on what the worker says until it has ended, or has said what breaks the protocol: then it is
// killed, and the last message says what it was.
func (w *Worker) readMessages(out *os.File, messages func(client.Message)) {
	defer close(w.heard)
	defer out.Close()
	greeted := sync.OnceFunc(func() { close(w.greeted) })
	defer greeted()
	go func() { // whoever it has started and left behind is not waited for
		<-w.proc.gone
		_ = out.SetReadDeadline(time.Now().Add(endWithin))
	}()
	wrong := w.pass(out, messages, greeted)
	if wrong == nil {
		wrong = w.awaitEnd()
	}
	if wrong != nil {
		w.wrong = fmt.Errorf("worker %s %w", w.name, wrong)
		_ = w.proc.Kill() // it is reaped below
	}
	<-w.proc.gone
	w.mu.Lock()
	expected := w.ending
	w.mu.Unlock()
	switch {
	case w.wrong != nil:
		messages(client.Message{Error: w.wrong.Error()})
	case !expected:
		messages(client.Message{Error: w.exitReport().Error()})
	}
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
		m, err := w.parse(line)
		if err != nil {
			return fmt.Errorf("wrote %q, %w", shortened(line), err)
		}
		if m.Done == 0 && m.Error != "" {
			return fmt.Errorf("gave up: %s", shortened([]byte(m.Error)))
		}
		if m.Lock != nil {
			greeted()
		}
		messages(m)
	}
}

// parse reads a line, and checks it if it is a stranger's.
func (w *Worker) parse(line []byte) (m client.Message, err error) {
	if w.checker != nil {
		return w.checker.Parse(line)
	}
	if err = json.Unmarshal(line, &m); err != nil {
		err = fmt.Errorf("which is not a message: %w", err)
	}
	return m, err
}

// awaitEnd returns once the worker whose output has ended is gone. One that runs on,
// though nobody has told it to end, will never be heard again: that is the error.
func (w *Worker) awaitEnd() error {
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

// exitReport says how the worker ended. Only for one that has.
func (w *Worker) exitReport() error {
	return fmt.Errorf("worker %s (pid %d) ended with %s; on stderr it said: %s",
		w.name, w.proc.id.PID, w.proc.How(), w.stderr.end())
}

func (w *Worker) Send(command client.Command) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.send(command)
}

func (w *Worker) send(command client.Command) error {
	if !w.proc.Running() {
		return fmt.Errorf("send %s: %w", command.Do, w.exitReport())
	}
	if w.ending {
		return fmt.Errorf("send %s: worker %s has been told to end", command.Do, w.name)
	}
	w.ending = command.Do == client.DoExit
	if w.checker != nil {
		w.checker.OnCommand(command)
	}
	return w.write(command)
}

// write writes one line to the worker.
func (w *Worker) write(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("worker %s: %w", w.name, err)
	}
	// A deadline can always be set on a pipe.
	_ = w.in.SetWriteDeadline(time.Now().Add(sendWithin))
	if _, err := w.in.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("worker %s does not take its commands: %w", w.name, err)
	}
	return nil
}

func (w *Worker) Pause() error { return w.proc.Pause(context.Background()) }

func (w *Worker) Resume() error { return w.proc.Resume(context.Background()) }

// Kill is SIGKILL. It returns once the process is gone and what it had said
// has been passed on.
func (w *Worker) Kill() error {
	w.mu.Lock()
	w.ending = true
	w.in.Close() // more than once does no harm
	w.mu.Unlock()
	if err := w.proc.Kill(); err != nil {
		return err
	}
	<-w.heard
	return nil
}

// Close tells the worker to end and waits for it, also if it is paused, and for the last
// events of its links. One that does not end in time is killed, and that is an error.
func (w *Worker) Close() error {
	err := w.end()
	if w.settle != nil {
		err = cmp.Or(err, w.settle())
	}
	return err
}

func (w *Worker) end() error {
	if err, done := w.sendExit(); done {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := w.proc.AwaitExit(ctx); err != nil {
		return errors.Join(fmt.Errorf("worker %s did not end within %s and was killed; on stderr it said: %s (%w)",
			w.name, closeWithin, w.stderr.end(), err), w.Kill())
	}
	<-w.heard
	if w.proc.exit != nil {
		return w.exitReport()
	}
	return nil
}

// sendExit sends the exit command and closes the worker's input. done says
// that there was nobody to tell.
func (w *Worker) sendExit() (err error, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.in.Close()
	if !w.proc.Running() {
		if w.ending {
			return nil, true
		}
		return w.exitReport(), true
	}
	if w.proc.Stopped() {
		if err := w.Resume(); err != nil {
			return err, true
		}
	}
	if !w.ending {
		// If it cannot be told, the end of its input tells it.
		_ = w.send(client.Command{Do: client.DoExit, Serial: exitSerial})
	}
	return nil, false
}
