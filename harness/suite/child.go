package suite

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
	"slices"
	"strconv"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
)

// request is one line to a child.
type request struct {
	Task *task `json:"task,omitempty"` // to run
	// Cancel winds up the trial under way; it comes alone.
	Cancel bool `json:"cancel,omitempty"`

	ctx context.Context // in the child: ends when the trial is called off
}

// response is one line from a child: a trial that is done; or how far it has got; or,
// as the child's last, why it ends itself.
type response struct {
	Trial      *Result          `json:"done,omitempty"`
	Events     []history.Event  `json:"events,omitempty"` // the trial's, if they were asked for
	Abilities  *locks.Abilities `json:"shown,omitempty"`  // by the lock, in this trial
	Progress   *trial.Position  `json:"progress,omitempty"`
	Stuck      string           `json:"stuck,omitempty"` // why it makes none, if that is known
	FinalError string           `json:"last,omitempty"`
}

// child is a process that runs trials.
type child struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	requests  *json.Encoder
	responses chan response // closed when the child has ended
	crash     *crashLog
	trials    int // so far
}

// collector is how Go's collector is set in a child, unless the user has set it. A trial leaves a
// megabyte of garbage and keeps hardly anything: it would run after every few trials.
var collector = []string{"GOGC=1600", "GOMEMLIMIT=256MiB"}

// childEnd is how long a child may take to end once its input has ended.
const childEnd = 2 * time.Second

// startChild starts a child on so many processors.
func startChild(command []string, processors int, said io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...), responses: make(chan response),
		crash: &crashLog{passThrough: said}}
	c.cmd.Env = slices.Concat(collector, os.Environ(), []string{"GOMAXPROCS=" + strconv.Itoa(processors), childGODEBUG()})
	c.cmd.Stderr = c.crash
	c.cmd.WaitDelay = childEnd // a process that a lock has started may keep stderr open
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := start(c.cmd); err != nil {
		return nil, fmt.Errorf("cannot start a process for trials: %w", err)
	}
	c.in, c.requests = in, json.NewEncoder(in)
	go c.listen(out)
	return c, nil
}

// listen passes on what the child says until it says no more.
func (c *child) listen(out io.Reader) {
	defer close(c.responses)
	decoder := json.NewDecoder(bufio.NewReaderSize(out, 1<<16))
	for {
		var r response
		if decoder.Decode(&r) != nil {
			return
		}
		c.responses <- r
	}
}

// childExit is how a child came to its end in the middle of a trial.
type childExit struct {
	message string // its last
	status  string
	hung    bool   // it was ended, for it made no progress
	why     string // it made none, if it could say so
}

func (d *childExit) String() string {
	switch {
	case d.why != "":
		return d.why
	case d.message == "":
		return "its process ended in the middle of the trial: " + d.status
	}
	return fmt.Sprintf("its process ended in the middle of the trial: %s (%s)", d.message, d.status)
}

// run has the child run one trial. When ctx ends, the trial is wound up.
func (c *child) run(ctx context.Context, t task, progressTimeout time.Duration) (Result, *childExit) {
	c.trials++
	if err := c.requests.Encode(request{Task: &t}); err != nil {
		return Result{}, c.waitExit("")
	}
	var seen response
	seen.Progress = &trial.Position{}
	watchdog := time.NewTimer(progressTimeout)
	defer watchdog.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case r, alive := <-c.responses:
			switch {
			case !alive:
				return Result{}, c.waitExit("")
			case r.Trial != nil:
				c.crash.endTrial()
				r.Trial.Events, r.Trial.Abilities = r.Events, r.Abilities
				return *r.Trial, nil
			case r.FinalError != "":
				return Result{}, c.waitExit(r.FinalError)
			case r.Progress != nil:
				if *r.Progress != *seen.Progress || r.Progress.Judging {
					watchdog.Reset(progressTimeout)
				}
				seen = r
			}
		case <-watchdog.C:
			death := c.waitExit(fmt.Sprintf("no progress in %s of real time, after %d events and %s of virtual time",
				progressTimeout, seen.Progress.Events, time.Duration(seen.Progress.Time)))
			death.hung, death.why = true, seen.Stuck
			return Result{}, death
		case <-cancelled:
			cancelled = nil
			_ = c.requests.Encode(request{Cancel: true}) // one that has died says so itself
		}
	}
}

// waitExit sees to a child's end and gives its last words: those given, or what it
// wrote as it died.
func (c *child) waitExit(words string) *childExit {
	if words != "" {
		_ = c.cmd.Process.Kill()
	}
	status, last := c.end()
	return &childExit{message: cmp.Or(words, last), status: status}
}

// end closes the child's input, of which it ends, and waits for it; one that does
// not end is killed. It returns how it ended, and what it wrote last.
func (c *child) end() (status, last string) {
	c.in.Close()
	late := time.AfterFunc(childEnd, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	for range c.responses {
		// nobody waits for it any more
	}
	err := c.cmd.Wait()
	last = c.crash.end()
	if c.cmd.ProcessState != nil {
		return c.cmd.ProcessState.String(), last
	}
	return errors.Join(errors.New("it cannot be waited for"), err).Error(), last
}
