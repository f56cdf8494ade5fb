package realcluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/lockproof/harness/cluster"
)

// SetClock makes the node's wall clock jump and sets its rate. It checks the effect by TIME. A node that is down
// restarts with that clock.
func (n *Node) SetClock(ctx context.Context, jump time.Duration, rate float64) error {
	return n.Do(ctx, "set the clock of", func(ctx context.Context) error {
		before, err := n.Host.SetClock(ctx, jump, rate)
		if err != nil || n.awake(ctx) != nil {
			return err // a node that is down or paused cannot answer TIME
		}
		return CheckClock(ctx, n.Host, before)
	})
}

// CheckClock checks a server's TIME against its host's clock, of which before is an earlier reading.
func CheckClock(ctx context.Context, h Host, before time.Time) error {
	address, err := h.Where(ctx)
	if err != nil {
		return err
	}
	shown, err := wallClock(ctx, address)
	if err != nil {
		return err
	}
	after, err := h.SetClock(ctx, 0, 0)
	if err != nil {
		return err
	}
	// TIME is in whole microseconds.
	if shown.Before(before.Add(-time.Microsecond)) || shown.After(after) {
		return fmt.Errorf("TIME is %v off its clock: the server is not under the preload shim, or not under this one",
			shown.Sub(before))
	}
	return nil
}

func (n *Node) Clock(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	var now time.Time
	err := n.awake(ctx)
	if errors.Is(err, cluster.ErrDown) {
		now, err = n.Host.SetClock(ctx, 0, 0)
	} else if err == nil {
		now, err = wallClock(ctx, n.Address())
	}
	if err != nil {
		return 0, n.failed("read the clock of", err)
	}
	return n.cluster.Wall(now), nil
}

func (n *Node) Disturb(change func(*cluster.DiskFaults)) (done cluster.Disturbed, err error) {
	err = n.Do(context.Background(), "disturb the disk of", func(ctx context.Context) error {
		if change != nil {
			change(&n.disk)
		}
		done, err = n.Host.Disturb(ctx, n.disk)
		return err
	})
	return done, err
}
