package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"lockproof/harness/history"
	"lockproof/harness/locks"
	"lockproof/harness/trial"
)

// order is one line to a child.
type order struct {
	// Row and Trial say which trial of the suite to run. Options and Job come with
	// the first trial of a row.
	Row     int      `json:"row"`
	Trial   int      `json:"trial"`
	Options *Options `json:"options,omitempty"`
	Job     *Job     `json:"job,omitempty"`
	// Cancel winds up the trial under way; it comes alone.
	Cancel bool `json:"cancel,omitempty"`

	ctx context.Context // in the child: ends when the trial is called off
}

// reply is one line from a child: a trial that is done; or how far it has got; or,
// as the child's last, why it ends itself.
type reply struct {
	Trial    *Result          `json:"done,omitempty"`
	Events   []history.Event  `json:"events,omitempty"` // the trial's, if they were asked for
	States   []uint64         `json:"states,omitempty"`
	Shown    *locks.Abilities `json:"shown,omitempty"` // by the lock, in this trial
	Progress *trial.Pace      `json:"progress,omitempty"`
	Last     string           `json:"last,omitempty"`
}

// child is a process that runs trials.
type child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	orders  *json.Encoder
	replies chan reply // closed when the child has ended
	words   *lastWords
	known   map[int]bool // the rows of the present suite that it has got
	trials  int          // so far
}

// childEnd is how long a child may take to end once its input has ended.
const childEnd = 2 * time.Second

// startChild starts a child on so many processors.
func startChild(command []string, processors int, said io.Writer) (*child, error) {
	c := &child{cmd: exec.Command(command[0], command[1:]...), replies: make(chan reply),
		words: &lastWords{said: said}, known: map[int]bool{}}
	c.cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(processors))
	c.cmd.Stderr = c.words
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
	c.in, c.orders = in, json.NewEncoder(in)
	go c.listen(out)
	return c, nil
}

// listen passes on what the child says until it says no more.
func (c *child) listen(out io.Reader) {
	defer close(c.replies)
	decoder := json.NewDecoder(bufio.NewReaderSize(out, 1<<16))
	for {
		var r reply
		if decoder.Decode(&r) != nil {
			return
		}
		c.replies <- r
	}
}

// death is how a child came to its end in the middle of a trial.
type death struct {
	words  string // its last
	status string
	hung   bool // it was ended, for it made no progress
}

func (d *death) Error() string {
	if d.words == "" {
		return "its process ended in the middle of the trial: " + d.status
	}
	return fmt.Sprintf("its process ended in the middle of the trial: %s (%s)", d.words, d.status)
}

// run has the child run one trial. When ctx ends, the trial is wound up. An error
// is a death.
func (c *child) run(ctx context.Context, o Options, t ticket, progressTimeout time.Duration) (Result, error) {
	what := order{Row: t.row, Trial: t.trial}
	if !c.known[t.row] {
		c.known[t.row] = true
		what.Options, what.Job = &o, &t.job
	}
	if err := c.orders.Encode(what); err != nil {
		return Result{}, c.reap("")
	}
	var seen trial.Pace
	watchdog := time.NewTimer(progressTimeout)
	defer watchdog.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case r, alive := <-c.replies:
			switch {
			case !alive:
				return Result{}, c.reap("")
			case r.Trial != nil:
				r.Trial.Events, r.Trial.States, r.Trial.Shown = r.Events, r.States, r.Shown
				return *r.Trial, nil
			case r.Last != "":
				return Result{}, c.reap(r.Last)
			case r.Progress != nil && (*r.Progress != seen || seen.Judging):
				seen = *r.Progress
				watchdog.Reset(progressTimeout)
			}
		case <-watchdog.C:
			death := c.reap(fmt.Sprintf("no progress in %s of real time, after %d events and %s of virtual time",
				progressTimeout, seen.Events, time.Duration(seen.Time)))
			death.hung = true
			return Result{}, death
		case <-cancelled:
			cancelled = nil
			_ = c.orders.Encode(order{Cancel: true}) // one that has died says so itself
		}
	}
}

// reap sees to a child's end and gives its last words: those given, or what it
// wrote as it died.
func (c *child) reap(words string) *death {
	if words != "" {
		_ = c.cmd.Process.Kill()
	}
	status := c.end()
	if words == "" {
		words = c.words.String()
	}
	return &death{words: words, status: status}
}

// end closes the child's input, of which it ends, and waits for it; one that does
// not end is killed. It returns how it ended.
func (c *child) end() string {
	c.in.Close()
	late := time.AfterFunc(childEnd, func() { _ = c.cmd.Process.Kill() })
	defer late.Stop()
	for range c.replies {
		// nobody waits for it any more
	}
	err := c.cmd.Wait()
	c.words.end()
	if c.cmd.ProcessState != nil {
		return c.cmd.ProcessState.String()
	}
	return errors.Join(errors.New("it cannot be waited for"), err).Error()
}
