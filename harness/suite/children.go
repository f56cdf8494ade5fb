package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster/kinds"
	"example.org/lockproof/harness/locks"
)

// DefaultProgressTimeout is for how long, in real time, a trial may make no progress
// before its process is ended.
const DefaultProgressTimeout = time.Minute

// Children runs trials in virtual time in processes of their own, one trial after
// another in each: nothing that a lock does there, short of breaking the machine,
// can take more with it than the trial that it does it in. A process that dies
// costs that trial, and a new one goes on with the rest. Its zero value is
// ready; Close ends the processes. Its methods may be called from any goroutine.
type Children struct {
	// Command is the command line of a child, which is to call ServeTrials; empty:
	// this program with the argument "trials".
	Command []string
	// ProgressTimeout bounds how long a trial may make no progress; 0: DefaultProgressTimeout.
	ProgressTimeout time.Duration
	// Processors is how many each child may use; 0: its share.
	Processors int
	// Stderr takes what the children's locks write to stdout and stderr; nil: nobody.
	Stderr io.Writer

	trials int // for how many a child is kept; 0: maxTrialsPerChild

	mu   sync.Mutex
	idle []*child
}

// Run is the package's Run, with the trials in virtual time in children.
func (c *Children) Run(ctx context.Context, jobs []Job, o Options, observe func(Result)) ([]Result, error) {
	if kinds.RealTime(o.Cluster) {
		return Run(ctx, jobs, o, observe)
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	sweep(ctx)
	return runAll(ctx, jobs, o, func() executor {
		return &childRunner{children: c, options: o, progressTimeout: c.progressTimeout()}
	}, observe), nil
}

// lifetime is for how many trials of a lock a child is kept.
func (c *Children) lifetime(lock string) int {
	most := cmp.Or(c.trials, maxTrialsPerChild)
	if k, err := locks.Find(lock); err == nil && len(k.LeavesBehind) > 0 {
		most = min(most, maxLeakyTrials)
	}
	return most
}

func (c *Children) progressTimeout() time.Duration {
	if c.ProgressTimeout > 0 {
		return c.ProgressTimeout
	}
	return DefaultProgressTimeout
}

// Close ends the children that are idle. No suite may be under way.
func (c *Children) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, child := range c.idle {
		child.end()
	}
	c.idle = nil
}

// take gives a child that is idle, or a new one for a suite of so many side by side.
func (c *Children) take(parallel int) (*child, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		taken := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		clear(taken.sentRows)
		return taken, nil
	}
	c.mu.Unlock()
	command := c.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("cannot find this program to run trials in it: %w", err)
		}
		command = []string{self, "trials"}
	}
	said := c.Stderr
	if said == nil {
		said = io.Discard
	}
	// A trial is one thing after another: it gains nothing from processors that
	// others could use.
	return startChild(command, cmp.Or(c.Processors, max(1, runtime.GOMAXPROCS(0)/parallel)), said)
}

// release takes a child back.
func (c *Children) release(free *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, free)
}

// childRunner hands trials to one child after another.
type childRunner struct {
	children        *Children
	options         Options
	progressTimeout time.Duration
	child           *child // nil: there is none at the moment
}

// runTrial has a trial run in a child. One that finds in a child what an earlier trial
// has left there, and dies of it, is run again in a new one.
func (e *childRunner) runTrial(ctx context.Context, t ticket) Result {
	began := time.Now()
	_, trial, ready := e.options.prepare(t)
	if !ready {
		return trial
	}
	for {
		fresh, err := e.ensureChild()
		var done Result
		if err == nil {
			done, err = e.child.run(ctx, e.options, t, e.progressTimeout)
		}
		if err == nil {
			trial = done
			break
		}
		e.child = nil
		death, died := errors.AsType[*childExit](err)
		if died && !fresh && death.causedByEarlierTrial() {
			continue
		}
		trial.Failure, trial.Attempts = err.Error(), 1
		trial.Hung = died && death.hung
		break
	}
	if trial.Failure != "" {
		e.endChild() // whatever it was may have left something behind
	}
	trial.Elapsed = time.Since(began)
	return trial
}

// referenceRow is the number of the row of a child that the reference is run in.
const referenceRow = -1

// runReference runs a trial of the reference in the same child.
func (e *childRunner) runReference(ctx context.Context, j Job, o Options) Result {
	own := e.options
	defer func() { e.options = own }()
	e.options = o
	e.options.Parallel = own.parallel()
	if e.child != nil {
		delete(e.child.sentRows, referenceRow) // it is another each time
	}
	return e.runTrial(ctx, ticket{row: referenceRow, job: j})
}

// maxTrialsPerChild is for how many trials a child is kept. Go 1.26 keeps some 350 bytes of each
// for ever (testing/synctest forgets which bubble a WaitGroup was of, and not the record of
// that), and next to the limit of a child's memory its collector never rests: after 200,000
// trials each took twice as long.
const maxTrialsPerChild = 50_000

// maxLeakyTrials is the same for a lock that leaves goroutines behind, which keep much of each trial in memory.
const maxLeakyTrials = 50

// ensureChild sees to it that there is a child for one more trial, and says whether it has run none yet.
func (e *childRunner) ensureChild() (fresh bool, err error) {
	if e.child != nil && e.child.trials >= e.children.lifetime(e.options.Lock) {
		e.endChild()
	}
	if e.child == nil {
		if e.child, err = e.children.take(e.options.parallel()); err != nil {
			return false, err
		}
	}
	e.child.trials++
	return e.child.trials == 1, nil
}

func (e *childRunner) endChild() {
	if e.child != nil {
		e.child.end()
		e.child = nil
	}
}

// finish gives the child back.
func (e *childRunner) finish() {
	if e.child != nil {
		e.children.release(e.child)
		e.child = nil
	}
}
