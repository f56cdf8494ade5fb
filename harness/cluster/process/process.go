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

// Timeout bounds every wait for a process to do what it was told.
const Timeout = 10 * time.Second

// PollEvery is how often a process is looked at while it is waited for.
const PollEvery = 500 * time.Microsecond

// process is one child of the harness: a redis-server or a worker.
type Process struct {
	name string // for errors: n3, or worker c1
	cmd  *exec.Cmd
	id   Identity
	gone chan struct{} // closed once it has ended and been reaped
	exit error         // how it ended; set before gone is closed
	// group: signals are for whomever it has started as well.
	group bool
}

// Launch starts a child and puts it on record.
func Launch(name string, cmd *exec.Cmd, record *Record) (*Process, error) {
	return launch(name, cmd, record, false)
}

// launch starts a child. In a group it may start others: signals are for these as well, and
// none of them outlives it.
func launch(name string, cmd *exec.Cmd, record *Record, group bool) (*Process, error) {
	p := &Process{name: name, cmd: cmd, gone: make(chan struct{}), group: group}
	if err := Start(cmd); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	// The child is not reaped yet, so it can be identified even if it has
	// ended already.
	id, err := identify(cmd.Process.Pid)
	if err == nil {
		p.id = id
		err = record.add(Entry{Child: &id})
	}
	go func() {
		if p.group {
			endGroup(cmd.Process.Pid)
		}
		p.exit = cmd.Wait()
		close(p.gone)
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot put %s on record: %w", name, err), p.Kill())
	}
	return p, nil
}

// Running says whether the process has not ended, paused or not.
func (p *Process) Running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// Kill sends SIGKILL, which a stopped process obeys as well, and returns once
// the process has been reaped. No context bounds it: what has been killed ends.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.AwaitExit(context.Background())
}

// AwaitExit returns once the process has been reaped.
func (p *Process) AwaitExit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s (pid %d) has not ended: %w", p.name, p.id.PID, ctx.Err())
	}
}

// The signals that stop a process and let it go on, by Linux's numbers: Windows has no names
// for them.
const (
	stop = syscall.Signal(19)
	goOn = syscall.Signal(18)
)

// Pause sends SIGSTOP and returns once every thread is seen to be stopped.
func (p *Process) Pause(ctx context.Context) error {
	return p.signalAndSee(ctx, stop, allStopped)
}

// Resume sends SIGCONT and returns once no thread is stopped any more.
func (p *Process) Resume(ctx context.Context) error {
	return p.signalAndSee(ctx, goOn, noneStopped)
}

func (p *Process) signalAndSee(ctx context.Context, s syscall.Signal, want func(states string) bool) error {
	if err := p.signal(s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	states := ""
	err := realtime.Poll(ctx, PollEvery, func() (done bool, err error) {
		if states, err = ThreadStates(p.id.PID); err != nil {
			return false, err
		}
		if !want(states) && !p.Running() {
			return false, fmt.Errorf("it ended (%s) instead", p.How())
		}
		return want(states), nil
	})
	if err != nil {
		return fmt.Errorf("%s (pid %d) got %s and its threads' states are %q: %w", p.name, p.id.PID, s, states, err)
	}
	return nil
}

// Stopped says whether the process is seen to be stopped.
func (p *Process) Stopped() bool {
	states, err := ThreadStates(p.id.PID)
	return err == nil && p.Running() && allStopped(states)
}

// Identity tells the process from all others.
func (p *Process) Identity() Identity { return p.id }

// Gone is closed once the process has ended and been reaped.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Exit is how the process ended, nil for status 0. Only for one that has.
func (p *Process) Exit() error { return p.exit }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.send(s); err != nil {
		return fmt.Errorf("cannot send %s to %s (pid %d): %w", s, p.name, p.id.PID, err)
	}
	return nil
}

// How says in words how a process ended. Only for one that has.
func (p *Process) How() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return p.exit.Error()
}

// allStopped and noneStopped judge the letters that ThreadStates gives, as
// /proc and ps have them: T is stopped by a signal, t by a debugger.
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

// LastWords is the end of what a program has said, for an error.
func LastWords(said []byte) string {
	const most = 2000
	said = bytes.TrimSpace(said)
	if len(said) == 0 {
		return "nothing"
	}
	return string(said[max(0, len(said)-most):])
}

// forks carries commands to the thread that starts them all.
var forks = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		// Linux sends a child its parent-death signal when the thread that
		// forked it ends, not the process. Go ends idle threads as it likes,
		// but never one that a living goroutine is locked to; and this one lives
		// as long as the process.
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// Start starts a command as the harness starts all of its children: it dies with the harness where the system can
// do that, and is in a process group of its own: a Ctrl-C at the terminal is for the harness, which then ends its
// children in good order.
func Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	started := make(chan error)
	forks() <- func() { started <- cmd.Start() }
	return <-started
}

// Identity tells one process from all others, also from one that gets its
// number later: no two processes of one number start at the same time.
type Identity struct {
	PID int `json:"pid"`
	// Started is when it started, in clock ticks since boot (field 22 of /proc/PID/stat).
	Started string `json:"started"`
	// Command is the program's name, as the system shortens it.
	Command string `json:"command"`
}

// errGone says that there is no process of that number.
var errGone = errors.New("there is no such process")

// Alive says whether that very process still runs. One that has ended and was
// not reaped (a zombie) does not.
func (id Identity) Alive() bool {
	now, err := identify(id.PID)
	return err == nil && now == id && !dead(id.PID)
}
