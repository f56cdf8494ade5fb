package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	_ "example.org/lockproof/harness/locks/builtin" // registers the built-in locks
	"example.org/lockproof/redlock"
)

// Env is a client's environment.
type Env struct {
	// Dial makes its connections.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Now is the true clock: nanoseconds since the run began.
	Now func() int64
	// Scheduler runs its timers. In virtual time a client has no own process.
	Scheduler *scheduler.Scheduler
}

// queueLength bounds the waiting commands of a thread.
const queueLength = 256

var errClosing = errors.New("the client is closing")

// Client is one client of the lock under test. It is safe for concurrent use.
type Client struct {
	setup     Setup
	clock     *clock
	lockClock *lockClock
	net       *network
	lock      locks.Lock
	own       *ownClients
	redis     []redis.UniversalClient // the nodes' and the store's
	store     *store
	*recorder

	scheduler *scheduler.Scheduler

	ctx     context.Context // ends when the client does
	cancel  context.CancelCauseFunc
	control *thread // executes immediate commands
	running sync.WaitGroup
	ending  sync.Once
	ended   chan struct{}
	err     error // of closing; read after ended

	describing sync.Once // sends the lock's abilities

	mu      sync.Mutex
	threads map[string]*thread // by name
	stop    chan struct{}      // ends the loops commanded so far
	written int                // writes so far
}

var _ Worker = (*Client)(nil)

// New makes a client and its lock. emit receives its messages, one call at a time. An error names the mistake in the
// setup.
func New(setup Setup, env Env, emit func(Message)) (*Client, error) {
	setup.Options = setup.Options.WithDefaults()
	kind, err := setup.check()
	if err != nil {
		return nil, err
	}
	var pause *hold
	if env.Scheduler.Virtual() {
		pause = &hold{scheduler: env.Scheduler, client: setup.Index}
	}
	c := &Client{
		setup:    setup,
		recorder: &recorder{process: setup.Name, now: env.Now, pause: pause, emit: emit},
		ended:    make(chan struct{}),
		threads:  map[string]*thread{},

		scheduler: env.Scheduler,
	}
	c.clock = newClock(env.Now, c.scheduler, pause)
	c.lockClock = &lockClock{clock: c.clock, late: &hold{scheduler: c.scheduler, client: setup.Index}}
	c.net = newNetwork(env.Dial, pause, setup.Password)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	if err := c.connect(kind); err != nil {
		return nil, errors.Join(err, c.disconnect())
	}
	c.control = c.newThread(0, orderControl)
	return c, nil
}

func (c *Client) connect(kind locks.Kind) error {
	addresses := slices.Clone(c.setup.Nodes)
	if len(c.setup.Sentinels) > 0 {
		c.redis = append(c.redis, redis.NewFailoverClient(
			c.net.options(c.setup.Options.TTL, 0, c.setup.Routes, c.setup.Sentinels...).Failover()))
		addresses = nil
	}
	if c.setup.ClusterClients > 0 {
		c.redis = append(c.redis, c.clusterClients(addresses)...)
		addresses = nil
	}
	for i, addr := range addresses {
		c.redis = append(c.redis, c.node(addr, i, c.setup.Options))
	}
	atStore := c.node(c.setup.Store, len(addresses), locks.Options{TTL: c.setup.Options.TTL})
	c.redis = append(c.redis, atStore)
	nodes := len(c.redis) - 1
	c.store = &store{client: atStore, fenced: c.setup.FencedStore, readsUnfenced: c.setup.ReadsUnfenced,
		compare: c.setup.CompareStore}
	lock, err := kind.New(locks.Env{
		Nodes:        c.redis[:nodes:nodes],
		Network:      c.lockNetwork(addresses),
		Clock:        c.lockClock,
		Rand:         locks.Seeded(c.setup.Seed, uint64(c.setup.Index)), // one seed, the same bytes in each run
		NoPipelining: c.scheduler.Virtual(),
		Options:      c.setup.Options,
	})
	switch {
	case errors.Is(err, redlock.ErrDuplicateNode):
		lock = refused{err}
	case err != nil:
		return fmt.Errorf("client %s: lock %s: %w", c.setup.Name, kind.Name, err)
	}
	c.lock = lock
	return nil
}

// Send queues a command or executes it at once (Do.immediate). An error means that it was rejected.
func (c *Client) Send(cmd Command) error {
	if err := cmd.check(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", cmd.Do, errClosing)
	}
	t := c.control
	if !cmd.Do.immediate() {
		t = c.thread(cmd.Thread)
	}
	select {
	case t.work <- &task{cmd, c.stopFor(cmd)}:
		return nil
	default:
		return fmt.Errorf("%s: %d commands are waiting already", cmd.Do, queueLength)
	}
}

// stopFor returns the channel that DoStop closes for a loop. It exists from the command on, so that a stop also ends a
// loop that has not begun. c.mu is held.
func (c *Client) stopFor(cmd Command) <-chan struct{} {
	if cmd.Do != DoLoop {
		return nil
	}
	if c.stop == nil {
		c.stop = make(chan struct{})
	}
	return c.stop
}

// Close ends the client in good order: it resumes a paused client, cancels pending operations, answers waiting
// commands with an error, and closes the lock. It does not release a held lease: only the script does.
func (c *Client) Close() error {
	c.close()
	<-c.ended
	return c.err
}

// Kill ends the client without a chance to clean up, as SIGKILL does: from now on it sends neither messages nor
// commands. Close then waits for its goroutines.
func (c *Client) Kill() error {
	c.silence()
	c.net.end()
	c.close()
	return nil
}

// Pause suspends a client in virtual time until Resume.
func (c *Client) Pause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return fmt.Errorf("pause %s: %w", c.setup.Name, errClosing)
	}
	c.pause.begin()
	return nil
}

// Resume ends a pause.
func (c *Client) Resume() error {
	c.pause.end()
	return nil
}

// close begins the client's end.
func (c *Client) close() {
	c.ending.Do(func() {
		c.mu.Lock() // Send accepts no command from here on
		c.cancel(errClosing)
		c.mu.Unlock()
		c.pause.end()
		c.lockClock.late.end()
		go c.finish()
	})
}

func (c *Client) finish() {
	defer close(c.ended)
	hung := c.returns("an operation of the lock", func() error { c.running.Wait(); return nil })
	c.drop()
	c.err = errors.Join(hung, c.returns("the lock's Close", c.lock.Close), c.disconnect())
	c.clock.close()
}

// endLimit bounds the end of a client, in TTLs. A lock may wait for some node timeouts and TTLs.
const endLimit = 60

// returns calls do and returns its error, or that it has not returned in time. A killed client's may hang unseen.
func (c *Client) returns(what string, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	limit := endLimit*c.setup.Options.TTL + 10*time.Second
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	if c.silent() {
		return nil
	}
	return fmt.Errorf("%s has not returned for %s", what, limit)
}

// drop answers waiting commands with an error.
func (c *Client) drop() {
	var waiting []chan *task
	for _, name := range slices.Sorted(maps.Keys(c.threads)) {
		waiting = append(waiting, c.threads[name].work)
	}
	for _, left := range append(waiting, c.control.work) {
		for len(left) > 0 {
			t := <-left
			c.send(Message{Done: t.Serial, Error: fmt.Sprintf("%s: dropped: %v", t.Do, errClosing)})
		}
	}
}

// disconnect closes every Redis client and connection, and waits for pending dials.
func (c *Client) disconnect() error {
	var errs []error
	for _, r := range c.redis {
		errs = append(errs, r.Close())
	}
	errs = append(errs, c.own.close())
	c.net.end()
	c.net.dialing.Wait()
	return errors.Join(append(errs, c.own.hosts.Close())...)
}

// execute executes an immediate command. DoFeed returns the timers' lateness.
func (c *Client) execute(cmd Command) (*cluster.Late, error) {
	switch cmd.Do {
	case DoClock:
		c.setClock(*cmd.Clock)
		return nil, nil
	case DoStarve:
		return nil, c.lockClock.starve()
	case DoFeed:
		return c.lockClock.feed()
	case DoCancel:
		return nil, c.cancelOperation()
	default:
		return nil, c.stopLoops()
	}
}

func (c *Client) setClock(s SetClock) {
	c.clock.set(s)
	for _, wall := range []bool{false, true} {
		c.measure(history.Event{Type: history.TypeClock}, func(e *history.Event) {
			reading, rate := c.clock.reading(wall)
			e.Clock = &history.Clock{Reading: reading, Rate: rate, Wall: wall}
		})
	}
}

func (c *Client) cancelOperation() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := false
	for _, t := range c.threads {
		if t.cancelOp != nil {
			t.cancelOp(errors.New("the caller cancelled"))
			found = true
		}
	}
	if !found {
		return errors.New("cancel: no operation is under way")
	}
	return nil
}

func (c *Client) stopLoops() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		return errors.New("stop: no loop is running")
	}
	close(c.stop)
	c.stop = nil
	return nil
}
