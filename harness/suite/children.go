package suite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/locks"
)

// defaultProgressTimeout is for how long, in real time, a trial may make no progress
// before its process is ended.
const defaultProgressTimeout = time.Minute

// Children runs trials in virtual time in processes of their own, one trial after
// another in each: nothing that a lock does there, short of breaking the machine,
// can take more with it than the trial that it does it in. A process that dies
// costs that trial, and a new one goes on with the rest. Its zero value is
// ready; Close ends the processes. Its methods may be called from any goroutine.
type Children struct {
	// Command is the command line of a child, which is to call ServeTrials; empty:
	// this program with the argument "trials".
	Command []string
	// ProgressTimeout bounds how long a trial may make no progress; 0: defaultProgressTimeout.
	ProgressTimeout time.Duration
	// Processors is how many each child may use; 0: its share.
	Processors int
	// Stderr takes what the children's locks write to stdout and stderr; nil: nobody.
	Stderr io.Writer

	mu   sync.Mutex
	idle []*child
}

// Run is the package's Run, with the trials in virtual time in children.
func (c *Children) Run(ctx context.Context, jobs []Job, o Options, observe func(Result)) ([]Result, error) {
	if cluster.RealTime(o.Cluster) {
		return Run(ctx, jobs, o, observe)
	}
	if _, err := o.validate(); err != nil {
		return nil, err
	}
	sweep(ctx)
	return runAll(ctx, jobs, o, c.runTask(o.parallel()), observe)
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

// runTask has trials run in children, so many side by side. A trial that finds in a child what an earlier one
// has left there, and dies of it, is run again in a new one.
func (c *Children) runTask(parallel int) runTask {
	return func(ctx context.Context, t task) Result {
		began := time.Now()
		failed := t.Result
		failed.Attempts++
		for {
			child, err := c.take(parallel)
			if err != nil {
				failed.Failure = err.Error()
				return failed
			}
			done, exit := child.run(ctx, t, cmp.Or(c.ProgressTimeout, defaultProgressTimeout))
			switch {
			case exit == nil:
				c.release(child, t.Plan.Lock, done)
				return done
			case child.trials > 1 && exit.causedByEarlierTrial():
				continue
			}
			failed.Failure, failed.Hung, failed.Elapsed = exit.String(), exit.hung, time.Since(began)
			return failed
		}
	}
}

// take gives a child that is idle, or a new one.
func (c *Children) take(parallel int) (*child, error) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		defer c.mu.Unlock()
		taken := c.idle[n-1]
		c.idle = c.idle[:n-1]
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
	stderr := c.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	// A trial is one thing after another: it gains nothing from processors that
	// others could use.
	return startChild(command, cmp.Or(c.Processors, max(1, runtime.GOMAXPROCS(0)/parallel)), stderr)
}

// maxTrialsPerChild is for how many trials a child is kept. Go 1.26 keeps some 350 bytes of each
// for ever (testing/synctest forgets which bubble a WaitGroup was of, and not the record of
// that), and next to the limit of a child's memory its collector never rests: after 200,000
// trials each took twice as long.
const maxTrialsPerChild = 50_000

// maxLeakyTrials is the same for a lock that leaves goroutines behind, which keep much of each trial in memory.
const maxLeakyTrials = 50

// release takes a child back after a trial. It ends one that has run as many as it may, or whose trial has failed: that
// may have left something behind.
func (c *Children) release(free *child, lock locks.Kind, after Result) {
	most := maxTrialsPerChild
	if len(lock.LeavesBehind) > 0 {
		most = min(most, maxLeakyTrials)
	}
	if after.Failure != "" || free.trials >= most {
		free.end()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, free)
}

// Pool runs trials in virtual time that are thought of one by one, in children.
type Pool struct {
	options Options
	run     runTask
	slots   chan struct{} // one for each trial under way
}

// Pool gives a pool of as many children as run side by side with these options, of
// which the seed and the number of trials are not used. Nothing that killed runs have
// left is removed: the trials leave nothing.
func (c *Children) Pool(o Options) (*Pool, error) {
	if _, err := o.validate(); err != nil {
		return nil, err
	}
	return &Pool{o, c.runTask(o.parallel()), make(chan struct{}, o.parallel())}, nil
}

// Size is how many trials run side by side.
func (p *Pool) Size() int { return cap(p.slots) }

// Try runs one trial of a job with that seed, as soon as a child is free.
func (p *Pool) Try(ctx context.Context, job Job, seed uint64) Result {
	p.slots <- struct{}{}
	defer func() { <-p.slots }()
	o := p.options
	o.Seed = seed
	return o.runFirst(ctx, job, p.run)
}
