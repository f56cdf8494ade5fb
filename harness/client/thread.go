package client

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// thread is one of those that share a client and its lock: its commands wait for one
// another, and those of other threads go on beside them.
type thread struct {
	*Client
	work  chan *task
	order int                     // in which it goes on after a pause
	under context.CancelCauseFunc // of the operation under way; Client.mu guards it

	// What follows belongs to the goroutine that works off the commands.
	draw   *rand.Rand
	latest *heldLease
	leases map[string]*heldLease // the latest of each key
}

// task is a command in the queue; stop is set for a loop.
type task struct {
	Command
	stop <-chan struct{}
}

// thread finds the thread of that name, which begins with its first command; c.mu is
// held.
func (c *Client) thread(name string) *thread {
	if t := c.threads[name]; t != nil {
		return t
	}
	seed := uint64(c.setup.Index)
	if name != "" {
		sum := fnv.New64a()
		sum.Write([]byte(name)) // it never fails
		seed ^= sum.Sum64()
	}
	t := c.newThread(seed, orderThreads)
	c.threads[name] = t
	return t
}

// newThread begins one.
func (c *Client) newThread(seed uint64, order int) *thread {
	t := &thread{
		Client: c, work: make(chan *task, queueLength), order: order, draw: rand.New(rand.NewPCG(c.setup.Seed, seed)),
		leases: map[string]*heldLease{},
	}
	c.running.Go(t.run)
	return t
}

// run does the commands that queue up, one after another.
func (t *thread) run() {
	for t.ctx.Err() == nil {
		select {
		case task := <-t.work:
			t.pause.wait(t.setup.key(t.order, 0))
			t.send(t.do(*task))
		case <-t.ctx.Done():
		}
	}
}

// do carries out one command. An error is what made it impossible; a
// failed operation is an outcome.
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

// within runs an operation under a context of its own, which ends after limit
// (0: no limit), with DoCancel, or with the client.
func (t *thread) within(limit time.Duration, operation func(context.Context)) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	t.underWay(cancel)
	defer t.underWay(nil)
	if limit == 0 {
		operation(ctx)
		return
	}
	bounded, end := t.scheduler.WithTimeout(ctx, t.setup.key(orderThreads, 0), limit)
	defer end()
	operation(bounded)
}

func (t *thread) underWay(cancel context.CancelCauseFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.under = cancel
}
