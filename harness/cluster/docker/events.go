package docker

import (
	"context"
	"fmt"
	"sync"

	"lockproof/harness/history"
)

// events passes on what the proxy tells, and counts it.
type events struct {
	record func(history.Event)

	mu     sync.Mutex
	count  int
	waiter chan struct{} // closed at the next event; nil if nobody waits
}

func (e *events) add(x history.Event) {
	e.record(x)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	if e.waiter != nil {
		close(e.waiter)
		e.waiter = nil
	}
}

// await returns once n events have been passed on.
func (e *events) await(ctx context.Context, n int) error {
	for {
		e.mu.Lock()
		count := e.count
		if e.waiter == nil {
			e.waiter = make(chan struct{})
		}
		waiter := e.waiter
		e.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-waiter:
		case <-ctx.Done():
			return fmt.Errorf("the proxy has told %d of its %d events: %w", count, n, ctx.Err())
		}
	}
}
