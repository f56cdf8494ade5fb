package client

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// thread executes its commands one after another, concurrently with the client's other threads. All share the client
// and its lock.
type thread struct {
	*Client
	work     chan *task
	order    int                     // in which it resumes after a pause
	cancelOp context.CancelCauseFunc // of the pending operation; guarded by Client.mu

	// The rest belongs to the goroutine of run.
	draw   *rand.Rand
	latest *heldLease
	leases map[string]*heldLease // the latest of each key
}

// task is a queued command; stop is set for a loop.
type task struct {
	Command
	stop <-chan struct{}
}

// thread returns the thread of that name, and starts it at its first command; c.mu is held.
func (c *Client) thread(name string) *thread {
	if t := c.threads[name]; t != nil {
		return t
	}
	seed := uint64(c.setup.Index)
	if name != "" {
		sum := fnv.New64a()
		sum.Write([]byte(name)) // never fails
		seed ^= sum.Sum64()
	}
	t := c.newThread(seed, orderThreads)
	c.threads[name] = t
	return t
}

func (c *Client) newThread(seed uint64, order int) *thread {
	t := &thread{
		Client: c, work: make(chan *task, queueLength), order: order, draw: rand.New(rand.NewPCG(c.setup.Seed, seed)),
		leases: map[string]*heldLease{},
	}
	c.running.Go(t.run)
	return t
}

func (t *thread) run() {
	for t.ctx.Err() == nil {
		select {
		case task := <-t.work:
			t.pause.wait(t.order, 0)
			t.send(t.do(*task))
		case <-t.ctx.Done():
		}
	}
}

// do executes one command. An error in the message means that it was impossible; a failed operation is an outcome.
func (t *thread) do(task task) Message {
	var m Message
	var err error
	switch {
	case task.Do.immediate():
		m.Starved, err = t.execute(task.Command)
	case task.Do == DoLoop:
		err = t.loop(*task.Loop, task.stop)
	default:
		t.within(task.Within, func(ctx context.Context) { m.Outcome, err = t.operate(ctx, task.Command) })
	}
	m.Done = task.Serial
	if err != nil {
		m.Error = err.Error()
	}
	return m
}

// within runs an operation under its own context, which ends after limit (0: no limit), with DoCancel, or with the
// client.
func (t *thread) within(limit time.Duration, operation func(context.Context)) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	t.setCancel(cancel)
	defer t.setCancel(nil)
	if limit == 0 {
		operation(ctx)
		return
	}
	bounded, end := t.scheduler.WithTimeout(ctx, t.pause.key(orderThreads, 0), limit)
	defer end()
	operation(bounded)
}

func (t *thread) setCancel(cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancelOp = cancel
}
