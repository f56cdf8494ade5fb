package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"lockproof/harness/cluster"
)

// fsync slows or fails the fsyncs of a node's disk. The proof is how many it was
// done to.
func (n *Nemesis) fsync(f Fault, target string) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	disk, err := n.disk(node)
	if err != nil {
		return nil, err
	}
	if len(n.on(target, f.Kind)) > 0 {
		return nil, errors.New("it is in effect already")
	}
	before, err := disturbed(disk, f.Kind)
	if err != nil {
		return nil, err
	}
	asked := map[string]string{"error": "EIO"}
	disturb, mend := func() error { return disk.FailFsync(true) }, func() error { return disk.FailFsync(false) }
	if f.Kind == SlowFsync {
		asked = map[string]string{"by": f.By.String()}
		disturb, mend = func() error { return disk.SlowFsync(f.By) }, func() error { return disk.SlowFsync(0) }
	}
	if err := disturb(); err != nil {
		return nil, err
	}
	end := func(context.Context) (proof, error) {
		if err := mend(); err != nil {
			return proof{}, err
		}
		after, err := disturbed(disk, f.Kind)
		return proof{map[string]string{"fsyncs": strconv.Itoa(after - before)}, after > before}, err
	}
	return n.begin(&Active{Target: target, fault: f, asked: asked, end: end}, proof{effective: true}), nil
}

// disk is a node's, if the cluster can get at it.
func (n *Nemesis) disk(node cluster.Node) (cluster.Disk, error) {
	if disk, ok := node.(cluster.Disk); ok {
		return disk, nil
	}
	return nil, fmt.Errorf("the %s cluster cannot get at its disk", n.cluster.Kind())
}

// disturbed is to how many fsyncs a fault has been done.
func disturbed(disk cluster.Disk, kind Kind) (int, error) {
	done, err := disk.Disturbed()
	if kind == SlowFsync {
		return done.Delayed, err
	}
	return done.Failed, err
}
