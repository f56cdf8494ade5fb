package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// fsyncFault is a disk's fault and the count of its effects.
type fsyncFault struct {
	set   func(d *cluster.DiskFaults, on bool)
	count func(cluster.Disturbed) int
}

// fsync disturbs the fsyncs of a node's disk. The proof is the number of disturbed fsyncs.
func (n *Nemesis) fsync(f Fault, target string, asked history.Asked, do fsyncFault) (*Active, error) {
	server, err := nodeAs[cluster.Server](n, target, cluster.AbilityDisk)
	if err != nil {
		return nil, err
	}
	before, err := server.Disturb(nil)
	if err != nil {
		return nil, err
	}
	if _, err := server.Disturb(func(d *cluster.DiskFaults) { do.set(d, true) }); err != nil {
		return nil, err
	}
	end := func(context.Context) (proof, error) {
		after, err := server.Disturb(func(d *cluster.DiskFaults) { do.set(d, false) })
		n := do.count(after) - do.count(before)
		return proof{measured: map[string]string{"fsyncs": strconv.Itoa(n)}, effective: n > 0, affected: &n}, err
	}
	return n.begin(&Active{Target: target, fault: f, asked: asked, end: end}, proof{effective: true}), nil
}

func fsyncEndText(f history.Fault) string {
	return "fsyncs of " + targetList(f) + " are normal again" + wording.Prefix("; disturbed: ", f.Measured["fsyncs"])
}
