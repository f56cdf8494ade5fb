package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// SlowFsync delays the fsyncs of a node's disk.
const SlowFsync = "slow-fsync"

var _ = declare(&Declaration{
	Kind: SlowFsync, Doc: "delays each fsync on the node's disk, by any process",
	Node:     &Effect{Class: history.NodeDisk, Needs: cluster.AbilityDisk},
	Required: []string{"by"}, Optional: []string{"for"},
	Check: func(u Use) []Misuse {
		if u.Modifiers["by"] && u.Delay == 0 {
			return []Misuse{{"by", "the fsync delay is 0", "want more than 0, for example `by: 5s`"}}
		}
		return nil
	},
	Words: Words{
		Noun:        "slow fsyncs of",
		Instruction: func(o Instruction) string { return "slow each fsync of " + o.Targets + " by " + o.Delay },
		Begin: func(f history.Fault) string {
			return "each fsync of " + targetList(f) + " takes" + wording.Prefix(" ", readable(f.Asked.By)) +
				" longer from here on"
		},
		End: fsyncEndText,
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.fsync(f, target, history.Asked{By: history.Duration(f.Delay)}, fsyncFault{
			set: func(d *cluster.DiskFaults, on bool) {
				if d.Slow = 0; on {
					d.Slow = f.Delay
				}
			},
			count: func(done cluster.Disturbed) int { return done.Delayed },
		})
	},
})
