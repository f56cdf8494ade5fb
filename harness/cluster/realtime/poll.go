package realtime

import (
	"context"
	"time"
)

// Poll asks again and again, until it is done, an error comes up, or ctx ends: then the error is ctx's.
func Poll(ctx context.Context, every time.Duration, done func() (bool, error)) error {
	for {
		if is, err := done(); is || err != nil {
			return err
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
