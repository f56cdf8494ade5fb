package trial

import (
	"cmp"
	"context"
	"time"

	"example.org/lockproof/harness/cluster"
)

// runInTime runs do and then end, in virtual time if the kind has it, where too many events stop do. end runs without
// polls of the outside, since much virtual time may pass in it.
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

// outsidePollInterval is in virtual time.
const outsidePollInterval = time.Second

// runUntil runs do with a context that ends once over returns true. A bubble cannot wait for a channel from outside,
// so it polls.
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
