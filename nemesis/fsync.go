package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// disturbance is what can be done to the fsyncs of a disk, and how often it has
// been.
type disturbance struct {
	begin, end func(cluster.Disk) error
	counted    func(cluster.Disturbed) int
}

// fsync disturbs the fsyncs of a node's disk. The proof is to how many it was
// done.
func (n *Nemesis) fsync(f Fault, target string, asked map[string]string, do disturbance) (*Active, error) {
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
	before, err := disk.Disturbed()
	if err != nil {
		return nil, err
	}
	if err := do.begin(disk); err != nil {
		return nil, err
	}
	end := func(context.Context) (proof, error) {
		if err := do.end(disk); err != nil {
			return proof{}, err
		}
		after, err := disk.Disturbed()
		n := do.counted(after) - do.counted(before)
		return proof{measured: map[string]string{"fsyncs": strconv.Itoa(n)}, effective: n > 0, met: &n}, err
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

// asBefore tells of the end of a disturbance.
func asBefore(f history.Fault) string {
	return "fsyncs of " + who(f) + " are as before" + wording.Behind("; disturbed: ", f.Measured["fsyncs"])
}
