package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// fsyncFault is what can be done to the fsyncs of a disk, and how often it has
// been.
type fsyncFault struct {
	begin, end func(cluster.Disk) error
	count      func(cluster.Disturbed) int
}

// fsync disturbs the fsyncs of a node's disk. The proof is to how many it was
// done.
func (n *Nemesis) fsync(f Fault, target string, asked map[string]string, do fsyncFault) (*Active, error) {
	disk, err := n.disk(target)
	if err != nil {
		return nil, err
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
		n := do.count(after) - do.count(before)
		return proof{measured: map[string]string{"fsyncs": strconv.Itoa(n)}, effective: n > 0, affected: &n}, err
	}
	return n.begin(&Active{Target: target, fault: f, asked: asked, end: end}, proof{effective: true}), nil
}

// disk is a node's, if the cluster can get at it.
func (n *Nemesis) disk(target string) (cluster.Disk, error) {
	return nodeAs[cluster.Disk](n, target, cluster.AbilityDisk)
}

// fsyncEndText tells of the end of a disturbance.
func fsyncEndText(f history.Fault) string {
	return "fsyncs of " + targetList(f) + " are as before" + wording.Prefix("; disturbed: ", f.Measured["fsyncs"])
}
