package scheduler

import (
	"context"
	"sync"
	"time"
)

// Context is a context that ends by an event of the scheduler.
type Context struct {
	context.Context // its values, and nothing else
	deadline        time.Time
	done            chan struct{}

	mu    sync.Mutex
	err   error
	after []func() // in the order of registration
}

// WithTimeout makes a context that ends with its parent, or after limit. cancel ends it and frees its resources.
func (s *Scheduler) WithTimeout(parent context.Context, key Key, limit time.Duration) (ctx *Context, cancel func()) {
	c := newContext(parent)
	if deadline := time.Now().Add(limit); c.deadline.IsZero() || deadline.Before(c.deadline) {
		c.deadline = deadline
	}
	timeout := s.After(limit, key, func() { c.end(context.DeadlineExceeded) })
	stop := context.AfterFunc(parent, func() { c.end(parent.Err()) })
	return c, func() {
		stop()
		timeout.Stop()
		c.end(context.Canceled)
	}
}

// Own makes a context for one of several users of a parent: each user's context ends by an event of its own.
func (s *Scheduler) Own(parent context.Context, key Key) (ctx context.Context, cancel func()) {
	if parent.Done() == nil {
		return parent, func() {}
	}
	c := newContext(parent)
	stop := context.AfterFunc(parent, func() {
		s.After(0, key, func() { c.end(parent.Err()) })
	})
	return c, func() { stop() }
}

func newContext(parent context.Context) *Context {
	c := &Context{Context: parent, done: make(chan struct{})}
	c.deadline, _ = parent.Deadline()
	return c
}

// Deadline is its latest end.
func (c *Context) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// Done is closed when it ends.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err returns the reason of its end.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc lets package context end derived contexts without a goroutine for each.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	place := len(c.after)
	c.after = append(c.after, f)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.after == nil || c.after[place] == nil {
			return false
		}
		c.after[place] = nil
		return true
	}
}

func (c *Context) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	close(c.done)
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for _, f := range after {
		if f != nil {
			f()
		}
	}
}
