package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster/realtime"
)

// Worker is a client process. It speaks the protocol of package client on stdin and stdout.
type Worker struct {
	name    string
	proc    *Process
	stderr  tailWriter
	drained chan struct{} // closed once its last message is delivered
	// checker checks an external worker's messages, and is nil for our own. greeted is closed at its hello, or at its end.
	checker *client.ProtocolChecker
	greeted chan struct{}
	breach  atomic.Pointer[error] // of the protocol; set before it is killed for that
	// unfinished is the output after the last newline; read after drained.
	unfinished string

	mu     sync.Mutex
	in     *os.File
	ending bool // exit was sent, or it was killed
}

var _ client.Worker = (*Worker)(nil)

// exitSerial is the serial of Close's command. No run sends as many commands.
const exitSerial = 1_000_000_000

// closeTimeout bounds a worker's exit after the exit command.
const closeTimeout = 10 * time.Second

// sendTimeout bounds a write to a worker whose pipe is full.
const sendTimeout = 5 * time.Second

// Workers starts the client processes of a cluster.
type Workers struct {
	// Command is the command line of a client, which serves the protocol of package client on stdin and stdout. Empty
	// means this program with the argument "worker".
	Command []string
	// External: Command is a foreign program. Its first message is its hello. Its messages are checked; a breach of the
	// protocol kills it and is a failure.
	External bool

	mu     sync.Mutex
	closed bool
	all    []*Worker
}

// ErrClosed means that the cluster is closed.
var ErrClosed = errors.New("the cluster is closed")

// Spawn starts a client's process and sends it its complete setup. A message with an Error and no Done means that the
// process ended unexpectedly or wrote an invalid message. messages must not call Kill or Close: they wait for it.
func (s *Workers) Spawn(setup client.Setup, messages func(client.Message)) (*Worker, error) {
	w, err := s.start(setup, messages)
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", setup.Name, err)
	}
	if err := w.write(setup); err != nil {
		return nil, errors.Join(err, w.Kill())
	}
	if err := w.awaitHello(); err != nil {
		return nil, errors.Join(err, w.Kill())
	}
	return w, nil
}

// Close kills all workers and waits until they are gone and their messages delivered.
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

func (s *Workers) start(setup client.Setup, messages func(client.Message)) (*Worker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	command, err := s.command()
	if err != nil {
		return nil, err
	}
	name := setup.Name
	w := &Worker{name: name, drained: make(chan struct{}), greeted: make(chan struct{})}
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirIn, theirOut, &w.stderr, outputTimeout
	if w.proc, err = Launch("worker "+name, cmd); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	w.in = in
	s.all = append(s.all, w)
	go w.readMessages(out, messages)
	return w, nil
}

// Process is the worker's process.
func (w *Worker) Process() *Process { return w.proc }

// readMessages delivers the worker's messages until it ends or breaches the protocol. A breach kills the worker and is
// the last message.
func (w *Worker) readMessages(out *os.File, messages func(client.Message)) {
	defer close(w.drained)
	defer out.Close()
	greeted := sync.OnceFunc(func() { close(w.greeted) })
	defer greeted()
	go func() { // its surviving children may keep the output open: do not wait for them
		<-w.proc.gone
		_ = out.SetReadDeadline(time.Now().Add(outputTimeout))
	}()
	breach := w.deliver(out, messages, greeted)
	if breach == nil {
		breach = w.awaitEnd()
	}
	if breach != nil {
		breach = fmt.Errorf("worker %s %w", w.name, breach)
		w.breach.Store(&breach)
		_ = w.proc.Kill() // it is reaped below
	}
	<-w.proc.gone
	w.mu.Lock()
	expected := w.ending
	w.mu.Unlock()
	if breach != nil || !expected {
		messages(client.Message{Error: w.endError().Error()})
	}
}

// deliver passes valid messages on; it returns an error for the first invalid line.
func (w *Worker) deliver(out io.Reader, messages func(client.Message), greeted func()) error {
	lines := bufio.NewReaderSize(out, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("wrote a line of more than %d bytes, which begins with %q", maxLine, shortened(line))
		}
		if err != nil {
			w.unfinished = string(line)
			return nil // the output ended
		}
		m, err := w.parse(line)
		if err != nil {
			return fmt.Errorf("wrote %q: %w", shortened(line), err)
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

func (w *Worker) parse(line []byte) (m client.Message, err error) {
	if w.checker != nil {
		return w.checker.Parse(line)
	}
	if err = json.Unmarshal(line, &m); err != nil {
		err = fmt.Errorf("not a message: %w", err)
	}
	return m, err
}

// awaitEnd waits for the exit of a worker whose output has ended. A worker that runs on without an exit command can
// send no more messages: that is an error.
func (w *Worker) awaitEnd() error {
	if w.awaitGone() {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ending {
		return nil
	}
	return errors.New("has closed its standard output and still runs, so it can send no more messages")
}

// awaitGone reports whether the process ends within outputTimeout.
func (w *Worker) awaitGone() bool {
	ctx, cancel := context.WithTimeout(context.Background(), outputTimeout)
	defer cancel()
	return w.proc.AwaitExit(ctx) == nil
}

// endError is why a worker ended: its breach of the protocol, for which it was killed, or its own exit.
func (w *Worker) endError() error {
	if breach := w.breach.Load(); breach != nil {
		return *breach
	}
	return fmt.Errorf("worker %s (pid %d) ended with %s; on stderr it said: %s",
		w.name, w.proc.PID(), w.proc.How(), w.stderr.end())
}

// Unfinished is the output after the last newline of a worker that was killed. It is no message, so its end may be
// missing by mistake.
func (w *Worker) Unfinished() string {
	<-w.drained
	return shortened([]byte(w.unfinished))
}

func (w *Worker) Send(command client.Command) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.send(command)
}

func (w *Worker) send(command client.Command) error {
	if !w.proc.Running() {
		return fmt.Errorf("send %s: %w", command.Do, w.endError())
	}
	if w.ending {
		return fmt.Errorf("send %s: worker %s has been sent exit already", command.Do, w.name)
	}
	w.ending = command.Do == client.DoExit
	if w.checker != nil {
		w.checker.OnCommand(command)
	}
	return w.write(command)
}

func (w *Worker) write(line any) error {
	b, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("worker %s: %w", w.name, err)
	}
	// Pipes support deadlines.
	_ = w.in.SetWriteDeadline(time.Now().Add(sendTimeout))
	_, err = w.in.Write(append(b, '\n'))
	if errors.Is(err, syscall.EPIPE) && w.awaitGone() {
		return w.endError()
	}
	if err != nil {
		return fmt.Errorf("worker %s does not read its commands: %w", w.name, err)
	}
	return nil
}

func (w *Worker) Pause() error { return w.proc.Pause(context.Background()) }

func (w *Worker) Resume() error { return w.proc.Resume(context.Background()) }

// Kill sends SIGKILL and waits until the process is gone and its messages are delivered.
func (w *Worker) Kill() error {
	w.mu.Lock()
	w.ending = true
	w.in.Close() // repeated calls are harmless
	w.mu.Unlock()
	if err := w.proc.Kill(); err != nil {
		return err
	}
	<-w.drained
	return nil
}

// Close sends exit, also to a paused worker, and waits for its end. It kills a worker that does not end in time, and
// returns an error.
func (w *Worker) Close() error {
	if err, done := w.sendExit(); done {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := w.proc.AwaitExit(ctx); err != nil {
		return errors.Join(fmt.Errorf("worker %s did not end within %s and was killed; on stderr it said: %s (%w)",
			w.name, closeTimeout, w.stderr.end(), err), w.Kill())
	}
	<-w.drained
	if w.proc.exit != nil {
		return w.endError()
	}
	return nil
}

// sendExit sends the exit command and closes the worker's input. done means that there is no exit to wait for.
func (w *Worker) sendExit() (err error, done bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.in.Close()
	if !w.proc.Running() {
		if w.ending {
			return nil, true
		}
		return w.endError(), true
	}
	if w.proc.Stopped() {
		if err := w.Resume(); err != nil {
			return err, true
		}
	}
	if !w.ending {
		// If the command fails, the end of its input ends the worker.
		_ = w.send(client.Command{Do: client.DoExit, Serial: exitSerial})
	}
	return nil, false
}
