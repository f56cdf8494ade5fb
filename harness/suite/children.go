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

// defaultProgressTimeout is the real time without progress after which a trial's process is killed.
const defaultProgressTimeout = time.Minute

// Children runs trials in virtual time in child processes, one trial after another in each. So a lock that panics,
// hangs or exits fails only its trial, and a new process runs the rest. The zero value is ready; Close ends the
// processes. It is safe for concurrent use.
type Children struct {
	// Command is the command line of a child, which must call ServeTrials; empty: this program with the argument
	// "trials".
	Command []string
	// ProgressTimeout bounds the real time of a trial without progress; 0: defaultProgressTimeout.
	ProgressTimeout time.Duration
	// Processors bounds the processors of each child; 0: its share.
	Processors int
	// Stderr receives the output of the children's locks to stdout and stderr; nil: it is discarded.
	Stderr io.Writer

	mu   sync.Mutex
	idle []*child
}

// Run is the package's Run, with the trials in virtual time in children.
func (c *Children) Run(ctx context.Context, jobs []Job, o Options, observe func(Result)) ([]Result, error) {
	if cluster.RealTime(o.Cluster) {
		return Run(ctx, jobs, o, observe)
	}
	p, err := c.Pool(o)
	if err != nil {
		return nil, err
	}
	sweep(ctx)
	return p.runAll(ctx, jobs, observe)
}

// Pool returns a pool in virtual time, whose Try ignores the seed and the number of trials of the options. It does not
// remove leftovers of killed runs.
func (c *Children) Pool(o Options) (*Pool, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	// A trial is sequential, so more processors would not make it faster.
	processors := cmp.Or(c.Processors, max(1, runtime.GOMAXPROCS(0)/o.parallel()))
	return newPool(o, func(ctx context.Context, t task) Result { return c.attempt(ctx, t, processors) }), nil
}

// Close ends the idle children. No suite may be running.
func (c *Children) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, child := range c.idle {
		child.end()
	}
	c.idle = nil
}

// attempt runs a task in a child. A trial that fails because of an earlier trial's leftovers in its child runs again in
// a new one.
func (c *Children) attempt(ctx context.Context, t task, processors int) Result {
	began := time.Now()
	failed := t.Result
	failed.Attempts++
	for {
		child, err := c.getChild(processors)
		if err != nil {
			failed.Failure = err.Error()
			return failed
		}
		done, exit := child.run(ctx, t, cmp.Or(c.ProgressTimeout, defaultProgressTimeout))
		switch {
		case exit == nil:
			c.release(child, done)
			return done
		case child.trials > 1 && exit.causedByEarlierTrial():
			continue
		}
		failed.Failure, failed.Hung, failed.Elapsed = exit.String(), exit.hung, time.Since(began)
		return failed
	}
}

// getChild returns an idle child or a new one.
func (c *Children) getChild(processors int) (*child, error) {
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
	return startChild(command, processors, stderr)
}

// maxTrialsPerChild bounds the trials of a child. Go 1.26 leaks some 350 bytes in each (testing/synctest keeps the
// record of a WaitGroup's bubble), and near a child's memory limit the collector runs all the time: after 200,000
// trials each took twice as long.
const maxTrialsPerChild = 50_000

// maxLeakyTrials is the same for a lock that leaks goroutines, which keep much of each trial in memory.
const maxLeakyTrials = 50

// release makes a child idle after a trial. It ends one that has run its maximum of trials, or whose trial failed,
// since a failed trial may leave goroutines behind.
func (c *Children) release(free *child, after Result) {
	most := maxTrialsPerChild
	if lock, err := locks.Find(after.Lock); err == nil && len(lock.LeavesBehind) > 0 {
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
