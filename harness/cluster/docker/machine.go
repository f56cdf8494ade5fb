package docker

import (
	"context"
	"errors"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/docker/proxy"
	"lockproof/harness/cluster/server"
)

// still is how long a disk that stands still takes for an fsync: longer than any
// run.
const still = 1000 * time.Hour

var _ cluster.Disk = (*node)(nil)

// PowerLoss kills the container, with everything that runs in it, and cuts each
// file on its disk to its length when it was last synced. That is one legal state
// of a disk after a power cut, the worst that Redis can be blamed for: a kernel
// may have written more.
func (n *node) PowerLoss(ctx context.Context) (lost int64, err error) {
	err = n.do(ctx, "cut the power of", func(ctx context.Context) error {
		if _, err := n.running(ctx); err != nil {
			return err
		}
		// The container takes a while to end. Its disk stands still from now on:
		// what was not synced at this moment is lost.
		standing := n.disk
		standing.Slow = still
		if _, err := n.setDisk(ctx, standing); err != nil {
			return err
		}
		if err := n.kill(ctx); err != nil {
			return err
		}
		lost, err = n.proxy.CutPower(ctx, n.service)
		_, mendErr := n.setDisk(ctx, n.disk)
		return errors.Join(err, mendErr, n.proxy.Move(ctx, n.service, ""))
	})
	return lost, err
}

// SetClock lets the node's wall clock jump, and run at another rate from now on.
// It returns once TIME shows it. A node that is down comes back with that clock.
func (n *node) SetClock(ctx context.Context, jump time.Duration, rate float64) error {
	return n.do(ctx, "set the clock of", func(ctx context.Context) error {
		before, err := n.proxy.SetClock(ctx, n.service, jump, rate)
		if err != nil || n.awake(ctx) != nil {
			return err // a node that is down or paused cannot be asked now
		}
		return n.checkClock(ctx, before)
	})
}

// Clock reads the node's wall clock, in nanoseconds since the run began as that
// clock counts them: by TIME, or that of its machine if the node is down.
func (n *node) Clock(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	var now time.Time
	err := n.awake(ctx)
	if errors.Is(err, cluster.ErrDown) {
		now, err = n.proxy.SetClock(ctx, n.service, 0, 0)
	} else if err == nil {
		now, err = server.Time(ctx, n.outside)
	}
	if err != nil {
		return 0, n.failed("read the clock of", err)
	}
	return n.cluster.clock.Wall(now), nil
}

// SlowFsync delays each fsync on the node's disk.
func (n *node) SlowFsync(by time.Duration) error {
	return n.disturb("slow the disk of", func(d *proxy.Disk) { d.Slow = by })
}

// FailFsync lets each fsync on the node's disk fail with EIO, or succeed again.
func (n *node) FailFsync(fail bool) error {
	return n.disturb("break the disk of", func(d *proxy.Disk) { d.Fail = fail })
}

func (n *node) disturb(what string, change func(*proxy.Disk)) error {
	return n.do(context.Background(), what, func(ctx context.Context) error {
		change(&n.disk)
		_, err := n.setDisk(ctx, n.disk)
		return err
	})
}

// FillDisk fills the node's disk, a small one, with a file, or removes it: writes
// fail then as soon as the last blocks of the server's own files are full.
func (n *node) FillDisk(full bool) error {
	return n.disturb("fill the disk of", func(d *proxy.Disk) { d.Full = full })
}

// Disturbed counts what was disturbed so far.
func (n *node) Disturbed() (done cluster.Disturbed, err error) {
	err = n.do(context.Background(), "look at the disk of", func(ctx context.Context) error {
		done, err = n.setDisk(ctx, n.disk)
		return err
	})
	return done, err
}

// setDisk tells the disk which faults it has.
func (n *node) setDisk(ctx context.Context, d proxy.Disk) (cluster.Disturbed, error) {
	d.Server = n.service
	return n.proxy.Disturb(ctx, d)
}
