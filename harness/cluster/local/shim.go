package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"lockproof/harness/cluster"
	"lockproof/harness/cluster/process"
	"lockproof/harness/cluster/server"
	"lockproof/harness/cluster/shim"
)

// The faults that need the preload shim, as can names them.
const (
	nodeClock = "node-clock"
	powerLoss = "power-loss"
	slowFsync = "slow-fsync"
	failFsync = "fail-fsync"
	fillDisk  = "fill-disk"
)

// installShim puts the node under a control of its own, where there is a shim.
// It is the machine's clock and disk: it outlives every process of the server.
func (n *node) installShim() (err error) {
	if n.c.library == "" {
		return nil
	}
	n.shim, err = shim.Create(filepath.Join(n.dir, "control"))
	return err
}

func (n *node) removeShim() error {
	if n.shim == nil {
		return nil
	}
	return n.shim.Close()
}

// needShim is the error of a fault that cannot be done for want of the shim.
func (n *node) needShim(fault string) error {
	if n.shim == nil {
		return can(fault)
	}
	p, err := n.process()
	if err != nil {
		return nil // the next process is looked at in its turn
	}
	if under, err := n.shim.Commands(p.Identity().PID); under || err != nil {
		return err
	}
	return unsupported(fault, fmt.Sprintf("%s does not load the preload shim", n.c.server.file),
		"use a server that is linked dynamically, as distributions have it")
}

// SetClock lets the node's wall clock jump, and run at another rate from now on.
// It returns once TIME shows it. A node that is down comes back with that clock.
func (n *node) SetClock(ctx context.Context, jump time.Duration, rate float64) error {
	n.op.Lock()
	defer n.op.Unlock()
	if err := n.needShim(nodeClock); err != nil {
		return err
	}
	if err := n.shim.SetClock(jump, rate); err != nil {
		return n.failed("set the clock of", err)
	}
	if _, err := n.awake(); err != nil {
		return nil // it cannot be asked now
	}
	return n.failed("set the clock of", n.checkClock(ctx))
}

// checkClock sees that TIME is what the node's clock shows.
func (n *node) checkClock(ctx context.Context) error {
	ctx, cancel := n.c.bounded(ctx)
	defer cancel()
	before, err := n.shim.Now()
	if err != nil {
		return err
	}
	shown, err := server.Time(ctx, n.addr)
	if err != nil {
		return err
	}
	after, err := n.shim.Now()
	if err != nil {
		return err
	}
	// TIME is in whole microseconds.
	if t := shown.UnixNano(); t < before-int64(time.Microsecond) || t > after {
		return fmt.Errorf("TIME is %v off its clock", time.Duration(t-before))
	}
	return nil
}

// PowerLoss kills the server and everything that it forked, and cuts each file
// on its disk to its length when it was last synced. That is one legal state of
// a disk after a power cut, the worst that Redis can be blamed for: a kernel may
// have written more.
func (n *node) PowerLoss(ctx context.Context) (lost int64, err error) {
	n.op.Lock()
	defer n.op.Unlock()
	p, err := n.process()
	if err != nil {
		return 0, n.failed("cut the power of", err)
	}
	if err := n.needShim(powerLoss); err != nil {
		return 0, err
	}
	n.keeper.stop()
	if err := killFamily(ctx, p); err != nil {
		return 0, n.failed("cut the power of", err)
	}
	lost, err = n.shim.CutPower(n.disk)
	return lost, n.failed("cut the power of", err)
}

var _ cluster.Disk = (*node)(nil)

// SlowFsync delays each fsync on the node's disk by d.
func (n *node) SlowFsync(d time.Duration) error {
	return n.disturb(slowFsync, func() error { return n.shim.SlowSync(d) })
}

// FailFsync lets each fsync on the node's disk fail with EIO, or succeed again.
func (n *node) FailFsync(fail bool) error {
	var why syscall.Errno
	if fail {
		why = syscall.EIO
	}
	return n.disturb(failFsync, func() error { return n.shim.FailSync(why) })
}

// FillDisk lets each write to the node's disk fail with ENOSPC, or succeed again.
func (n *node) FillDisk(full bool) error {
	return n.disturb(fillDisk, func() error { return n.shim.FillDisk(full) })
}

func (n *node) disturb(fault string, how func() error) error {
	n.op.Lock()
	defer n.op.Unlock()
	if err := n.needShim(fault); err != nil {
		return err
	}
	return n.failed("disturb the disk of", how())
}

// Disturbed counts what was disturbed so far.
func (n *node) Disturbed() (cluster.Disturbed, error) {
	if n.shim == nil {
		return cluster.Disturbed{}, can(slowFsync)
	}
	done, err := n.shim.Syncs()
	return cluster.Disturbed{Delayed: int(done.Delayed), Failed: int(done.Failed), Full: int(done.Refused)},
		n.failed("read the shim of", err)
}

// killFamily kills a process and those that it has forked, which would go on
// writing. It is stopped first, so that it forks no more.
func killFamily(ctx context.Context, p *process.Process) error {
	if err := p.Pause(ctx); err != nil && p.Running() {
		return err
	}
	children, err := process.ChildrenOf(p.Identity().PID)
	errs := []error{err, p.Kill()}
	for _, child := range children {
		errs = append(errs, process.End(child))
	}
	return errors.Join(errs...)
}
