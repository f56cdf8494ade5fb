package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.org/lockproof/harness/cluster/realtime"
)

// Timeout bounds every wait for a process to obey.
const Timeout = 10 * time.Second

// pollEvery is the interval between checks of an awaited process.
const pollEvery = 500 * time.Microsecond

// Process is one child of the harness: a redis-server or a worker.
type Process struct {
	name string // for errors: n3, or worker c1
	cmd  *exec.Cmd
	gone chan struct{} // closed once it has ended and been reaped
	exit error         // how it ended; set before gone is closed
}

// Launch starts a child. Processes that it starts get its signals and die with it.
func Launch(name string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{name: name, cmd: cmd, gone: make(chan struct{})}
	if err := Start(cmd); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	go func() {
		endGroup(cmd.Process.Pid)
		p.exit = cmd.Wait()
		if errors.Is(p.exit, exec.ErrWaitDelay) { // status 0, but a daemon that it started has its output
			p.exit = nil
		}
		close(p.gone)
	}()
	return p, nil
}

// Running reports whether the process has not ended, paused or not.
func (p *Process) Running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Kill sends SIGKILL, which a stopped process obeys too, and waits until the process is reaped.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.AwaitExit(context.Background())
}

// AwaitExit waits until the process is reaped.
func (p *Process) AwaitExit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s (pid %d) has not ended: %w", p.name, p.PID(), ctx.Err())
	}
}

// SIGSTOP and SIGCONT, by Linux's numbers: Windows has no names for them.
const (
	stop = syscall.Signal(19)
	cont = syscall.Signal(18)
)

// Pause sends SIGSTOP and waits until every thread is stopped.
func (p *Process) Pause(ctx context.Context) error {
	return p.signalAndSee(ctx, stop, allStopped)
}

// Resume sends SIGCONT and waits until no thread is stopped.
func (p *Process) Resume(ctx context.Context) error {
	return p.signalAndSee(ctx, cont, noneStopped)
}

func (p *Process) signalAndSee(ctx context.Context, s syscall.Signal, want func(states string) bool) error {
	if err := p.signal(s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	states := ""
	err := realtime.Poll(ctx, pollEvery, func() (done bool, err error) {
		if states, err = ThreadStates(p.PID()); err != nil {
			return false, err
		}
		if !want(states) && !p.Running() {
			return false, fmt.Errorf("it ended (%s) instead", p.How())
		}
		return want(states), nil
	})
	if err != nil {
		return fmt.Errorf("%s (pid %d) got %s and its threads' states are %q: %w", p.name, p.PID(), s, states, err)
	}
	return nil
}

// Stopped reports whether all threads are stopped.
func (p *Process) Stopped() bool {
	states, err := ThreadStates(p.PID())
	return err == nil && p.Running() && allStopped(states)
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Gone is closed once the process has ended and been reaped.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Exit is the result of an ended process, nil for status 0.
func (p *Process) Exit() error { return p.exit }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.send(s); err != nil {
		return fmt.Errorf("cannot send %s to %s (pid %d): %w", s, p.name, p.PID(), err)
	}
	return nil
}

// How describes the result of an ended process.
func (p *Process) How() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return p.exit.Error()
}

// allStopped and noneStopped read the letters of ThreadStates: T is stopped by a signal, t by a debugger.
func allStopped(states string) bool {
	return states != "" && strings.Trim(states, "Tt") == ""
}

func noneStopped(states string) bool {
	return states != "" && !strings.ContainsAny(states, "Tt")
}

// Tail is the end of a log file, for an error.
func Tail(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return LastWords(b)
}

// maxLastWords bounds LastWords, in bytes.
const maxLastWords = 2000

// LastWords is the end of a program's output, for an error.
func LastWords(said []byte) string {
	said = bytes.TrimSpace(said)
	if len(said) == 0 {
		return "nothing"
	}
	return string(said[max(0, len(said)-maxLastWords):])
}

// forks sends functions to the thread that starts all children.
var forks = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		// Linux sends a child its parent-death signal when the forking thread ends, not the process. Go may end idle
		// threads, but not one with a locked living goroutine. This goroutine lives as long as the process.
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// Start starts a child of the harness. The child dies with the harness if the system supports that. It has its own
// process group, so a Ctrl-C reaches only the harness, which then ends its children in order.
func Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	started := make(chan error)
	forks() <- func() { started <- cmd.Start() }
	return <-started
}
