package redlock

import (
	"sync"
	"time"
)

// call is the command to one node.
type call struct {
	mu       sync.Mutex
	returned bool
	result   answer        // once it has returned
	done     chan struct{} // closed by then; nil while nobody waits for it
}

// end notes the node's answer.
func (c *call) end(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned, c.result = true, a
	if c.done != nil {
		close(c.done)
	}
}

// outcome returns the node's answer, if there is one.
func (c *call) outcome() (a answer, returned bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.result, c.returned
}

// wait waits for the node's answer, however long that takes.
func (c *call) wait() answer {
	<-c.ended()
	return c.result
}

// waitFor waits for the node's answer, but no longer than d.
func (c *call) waitFor(d time.Duration) (a answer, returned bool) {
	if a, returned = c.outcome(); returned || d == 0 {
		return a, returned
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ended():
	case <-timer.C:
	}
	return c.outcome()
}

// ended is closed once the call has returned.
func (c *call) ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.returned {
			close(c.done)
		}
	}
	return c.done
}
