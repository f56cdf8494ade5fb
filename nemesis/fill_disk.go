package nemesis

import (
	"context"
	"errors"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// FillDisk fills a node's disk.
const FillDisk = "fill-disk"

var _ = declare(&Declaration{
	Kind:     FillDisk,
	Doc:      "fills the node's disk: each write of its server fails with ENOSPC",
	Node:     &Effect{Class: history.NodeDisk, Needs: cluster.AbilityDisk},
	Optional: []string{"for"},
	Words: Words{
		Noun:        "full disk of",
		Instruction: instructionFor("fill the disk of %s (ENOSPC)"),
		Begin: func(f history.Fault) string {
			return "the disk of " + targetList(f) + " is full" + wording.Prefix(": writes fail with ", f.Asked.Error)
		},
		End: func(f history.Fault) string {
			return "the disk of " + targetList(f) + " has room again" +
				wording.Prefix("; refused writes: ", f.Measured["refused writes"])
		},
		Past: "had its disk filled",
	},
	apply: (*Nemesis).fillDisk,
})

// fillDisk fills a node's disk, and frees it at the end. The proof is the number of refused writes, and the server's
// reaction: it has ended, or reports that its last write to the append-only file failed.
func (n *Nemesis) fillDisk(ctx context.Context, f Fault, target string) (*Active, error) {
	server, err := nodeAs[cluster.Server](n, target, cluster.AbilityDisk)
	if err != nil {
		return nil, err
	}
	before, err := server.Disturb(nil)
	if err != nil {
		return nil, err
	}
	fill := func(full bool) (cluster.Disturbed, error) {
		return server.Disturb(func(d *cluster.DiskFaults) { d.Full = full })
	}
	if _, err := fill(true); err != nil {
		return nil, err
	}
	end := func(ctx context.Context) (proof, error) {
		measured := map[string]string{}
		switch info, err := server.Info(ctx); {
		case errors.Is(err, cluster.ErrDown):
			measured["state"] = "down"
		case err != nil:
			_, endErr := fill(false)
			return proof{}, errors.Join(err, endErr)
		default:
			measured["aof_last_write_status"] = info["aof_last_write_status"]
		}
		after, err := fill(false)
		refused := after.Full - before.Full
		measured["refused writes"] = strconv.Itoa(refused)
		return proof{measured: measured, effective: refused > 0, affected: &refused}, err
	}
	a := &Active{Target: target, fault: f, asked: history.Asked{Error: "ENOSPC"}, end: end}
	return n.begin(a, proof{effective: true}), nil
}
