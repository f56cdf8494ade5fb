package redlock

import (
	"sync"
	"time"
)

// call is the command to one node.
type call struct {
	mu       sync.Mutex
	returned bool
	result   answer // once it has returned
	next     func() // what is to follow it
	limit    *time.Timer
}

// outcome returns the node's answer, if there is one.
func (c *call) outcome() (a answer, returned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result, c.returned
}

// end notes the node's answer and returns what is to follow, nil if nothing is.
func (c *call) end(a answer) (next func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned, c.result = true, a
	return c.take()
}

// then has next follow the call: in the call's own goroutine, which costs neither
// a new one nor a switch, or after limit in another; without a limit if it is 0.
// Nothing else must be to follow. It returns false if the call has returned: next
// is for who asks.
func (c *call) then(limit time.Duration, next func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned {
		return false
	}
	c.next = next
	if limit > 0 {
		c.limit = time.AfterFunc(limit, c.overdue)
	}
	return true
}

// overdue lets what is to follow wait no longer.
func (c *call) overdue() {
	c.mu.Lock()
	next := c.take()
	c.mu.Unlock()
	if next != nil {
		next()
	}
}

// take hands over what is to follow, once. c.mu is held.
func (c *call) take() (next func()) {
	if c.limit != nil {
		c.limit.Stop()
		c.limit = nil
	}
	next, c.next = c.next, nil
	return next
}
