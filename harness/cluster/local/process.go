package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience bounds every wait for a process to do what it was told.
const patience = 10 * time.Second

// pollEvery is how often a process is looked at while it is waited for.
const pollEvery = 500 * time.Microsecond

// process is one child of the harness: a redis-server or a worker.
type process struct {
	name string // for errors: n3, or worker c1
	cmd  *exec.Cmd
	id   identity
	gone chan struct{} // closed once it has ended and been reaped
	exit error         // how it ended; set before gone is closed
}

// launch starts a child and puts it on record.
func (c *Cluster) launch(name string, cmd *exec.Cmd) (*process, error) {
	if err := fork(cmd); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, gone: make(chan struct{})}
	// The child is not reaped yet, so it can be identified even if it has
	// ended already.
	id, err := identify(cmd.Process.Pid)
	if err == nil {
		p.id = id
		err = c.record.add(entry{Child: &id})
	}
	go func() {
		p.exit = cmd.Wait()
		close(p.gone)
	}()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot put %s on record: %w", name, err), p.kill())
	}
	return p, nil
}

// running says whether the process has not ended, paused or not.
func (p *process) running() bool {
	select {
	case <-p.gone:
		return false
	default:
		return true
	}
}

// kill sends SIGKILL, which a stopped process obeys as well, and returns once
// the process has been reaped. No context bounds it: what has been killed ends.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.awaitExit(context.Background())
}

// awaitExit returns once the process has been reaped.
func (p *process) awaitExit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s (pid %d) has not ended: %w", p.name, p.id.PID, ctx.Err())
	}
}

// pause sends SIGSTOP and returns once every thread is seen to be stopped.
func (p *process) pause(ctx context.Context) error {
	return p.signalAndSee(ctx, syscall.SIGSTOP, allStopped)
}

// resume sends SIGCONT and returns once no thread is stopped any more.
func (p *process) resume(ctx context.Context) error {
	return p.signalAndSee(ctx, syscall.SIGCONT, noneStopped)
}

func (p *process) signalAndSee(ctx context.Context, s syscall.Signal, want func(states string) bool) error {
	if err := p.signal(s); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		states, err := threadStates(p.id.PID)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if want(states) {
			return nil
		}
		select {
		case <-p.gone:
			return fmt.Errorf("%s ended (%s) instead of obeying %s", p.name, p.how(), s)
		case <-ctx.Done():
			return fmt.Errorf("%s (pid %d) got %s and its threads' states are still %q: %w", p.name, p.id.PID, s, states, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// stopped says whether the process is seen to be stopped.
func (p *process) stopped() bool {
	states, err := threadStates(p.id.PID)
	return err == nil && p.running() && allStopped(states)
}

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("cannot send %s to %s (pid %d): %w", s, p.name, p.id.PID, err)
	}
	return nil
}

// how says in words how a process ended. Only for one that has.
func (p *process) how() string {
	if p.exit == nil {
		return "exit status 0"
	}
	return p.exit.Error()
}

// allStopped and noneStopped judge the letters that threadStates gives, as
// /proc and ps have them: T is stopped by a signal, t by a debugger.
func allStopped(states string) bool {
	return states != "" && strings.Trim(states, "Tt") == ""
}

func noneStopped(states string) bool {
	return states != "" && !strings.ContainsAny(states, "Tt")
}

// tail is the end of a log file, for an error.
func tail(file string) string {
	const most = 2000
	b, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if len(b) > most {
		b = b[len(b)-most:]
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return "nothing"
	}
	return text
}
