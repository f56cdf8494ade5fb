package trial

import (
	"cmp"
	"context"
	"time"

	"example.org/lockproof/harness/cluster"
)

// runInTime does something in the time of a kind of cluster: in virtual time in a
// bubble, until the journal has too many events at the most. Then it is ended, for
// which nobody looks at the world outside: much virtual time may pass by that.
func runInTime(ctx context.Context, kind cluster.Kind, j *Journal, do func(context.Context) error,
	end func() error) error {
	if kind.RealTime() {
		return cmp.Or(do(ctx), end())
	}
	var err error
	over := func() bool { return ctx.Err() != nil || j.checkEventLimit() != nil }
	bubbleErr := kind.Bubble(func() { err = cmp.Or(runUntil(over, do), end()) })
	return cmp.Or(j.checkEventLimit(), err, bubbleErr)
}

// outsidePollInterval is how often, in virtual time, a bubble looks at the world outside.
const outsidePollInterval = time.Second

// runUntil does something in a bubble on a context that ends when it is over for the
// world outside: nothing in the bubble may wait for that, but it can be asked.
func runUntil(over func() bool, do func(inside context.Context) error) error {
	inside, done := context.WithCancel(context.Background())
	defer done()
	go func() {
		tick := time.NewTicker(outsidePollInterval)
		defer tick.Stop()
		for !over() {
			select {
			case <-inside.Done():
				return
			case <-tick.C:
			}
		}
		done()
	}()
	return do(inside)
}
