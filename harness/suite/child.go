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
	// Cancel stops the running trial; the request has no Task.
	Cancel bool `json:"cancel,omitempty"`

	ctx context.Context // in the child: ends when the trial is cancelled
}

// response is one line from a child: a finished trial; or its progress; or, as the last line, why the child exits.
type response struct {
	Trial      *Result          `json:"done,omitempty"`
	Events     []history.Event  `json:"events,omitempty"` // the trial's, if requested
	Abilities  *locks.Abilities `json:"shown,omitempty"`  // by the lock, in this trial
	PastLast   bool             `json:"past_last,omitempty"`
	Progress   *trial.Position  `json:"progress,omitempty"`
	Stuck      string           `json:"stuck,omitempty"` // why the trial makes no progress, if known
	FinalError string           `json:"last,omitempty"`
}

type child struct {
	cmd       *exec.Cmd
	in        io.WriteCloser
	requests  *json.Encoder
	responses chan response // closed when the child has ended
	crash     *crashLog
	trials    int // so far
}

// collector sets Go's garbage collector in a child, unless the user has set it. A trial makes a megabyte of garbage
// and keeps hardly anything, so the collector would run after every few trials.
var collector = []string{"GOGC=1600", "GOMEMLIMIT=256MiB"}

// childEnd bounds the time from the end of a child's input to its exit.
const childEnd = 2 * time.Second

func startChild(command []string, processors int, stderr io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...), responses: make(chan response),
		crash: &crashLog{passThrough: stderr}}
	c.cmd.Env = slices.Concat(collector, os.Environ(), []string{"GOMAXPROCS=" + strconv.Itoa(processors), childGODEBUG()})
	c.cmd.Stderr = c.crash
	c.cmd.WaitDelay = childEnd // a process that a lock started may keep stderr open
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

// listen forwards the child's responses until its output ends.
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

// childExit describes a child's exit in the middle of a trial.
type childExit struct {
	message string // its last output
	status  string
	hung    bool   // it was killed because it made no progress
	why     string // the reason for that, if known
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

// run runs one trial in the child. When ctx ends, the child stops the trial early.
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
				r.Trial.Events, r.Trial.Abilities, r.Trial.pastLast = r.Events, r.Abilities, r.PastLast
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
			exit := c.waitExit(fmt.Sprintf("no progress in %s of real time, after %d events and %s of virtual time",
				progressTimeout, seen.Progress.Events, time.Duration(seen.Progress.Time)))
			exit.hung, exit.why = true, seen.Stuck
			return Result{}, exit
		case <-cancelled:
			cancelled = nil
			_ = c.requests.Encode(request{Cancel: true}) // a dead child ends its responses
		}
	}
}

// waitExit waits for a child's exit, and kills it if there is a message. Without a message, it uses the child's last
// output.
func (c *child) waitExit(message string) *childExit {
	if message != "" {
		_ = c.cmd.Process.Kill()
	}
	status, last := c.end()
	return &childExit{message: cmp.Or(message, last), status: status}
}

// end closes the child's input, which makes it exit, and kills it after childEnd. It returns the exit status and the
// last output.
func (c *child) end() (status, last string) {
	c.in.Close()
	late := time.AfterFunc(childEnd, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	for range c.responses {
		// listen must not block
	}
	err := c.cmd.Wait()
	last = c.crash.end()
	if c.cmd.ProcessState != nil {
		return c.cmd.ProcessState.String(), last
	}
	return errors.Join(errors.New("it cannot be waited for"), err).Error(), last
}
