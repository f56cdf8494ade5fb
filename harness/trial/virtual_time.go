package trial

import (
	"cmp"
	"context"
	"time"

	"lockproof/harness/cluster"
)

// inTime does something in the time of a kind of cluster: in virtual time in a
// bubble, until the journal has too many events at the most. Then it is ended, for
// which nobody looks at the world outside: much virtual time may pass by that.
func inTime(ctx context.Context, kind cluster.Kind, j *Journal, do func(context.Context) error, end func() error) error {
	if kind.RealTime() {
		return cmp.Or(do(ctx), end())
	}
	var err error
	over := func() bool { return ctx.Err() != nil || j.tooMany() != nil }
	bubbleErr := kind.Bubble(func() { err = cmp.Or(whileWanted(over, do), end()) })
	return cmp.Or(j.tooMany(), err, bubbleErr)
}

// lookOutside is how often, in virtual time, a bubble looks at the world outside.
const lookOutside = time.Second

// whileWanted does something in a bubble on a context that ends when it is over for the
// world outside: nothing in the bubble may wait for that, but it can be asked.
func whileWanted(over func() bool, do func(inside context.Context) error) error {
	inside, done := context.WithCancel(context.Background())
	defer done()
	go func() {
		tick := time.NewTicker(lookOutside)
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
