package nemesis

import (
	"context"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
	"lockproof/internal/wording"
)

// SlowFsync delays the fsyncs of a node's disk.
const SlowFsync = "slow-fsync"

var _ = declare(&Declaration{
	Kind: SlowFsync, Doc: "delays each fsync on the node's disk, whichever process makes it",
	Node:     &Effect{Class: history.NodeDisk},
	Required: []string{"by"}, Optional: []string{"for"},
	Check: func(u Use) []Misuse {
		if u.Given["by"] && u.By == 0 {
			return []Misuse{{"by", "an fsync that is slow by 0 is not slow", "say by how much, as in `by: 5s`"}}
		}
		return nil
	},
	Met: "fsyncs delayed",
	Words: Words{
		ToDo: func(o Order) string { return "slow each fsync of " + o.Who + " by " + o.By },
		Begun: func(f history.Fault) string {
			return "each fsync of " + who(f) + " takes" + wording.Behind(" ", wording.Readable(f.Asked["by"])) + " longer from here on"
		},
		Over: asBefore,
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.fsync(f, target, map[string]string{"by": f.By.String()}, disturbance{
			begin:   func(d cluster.Disk) error { return d.SlowFsync(f.By) },
			end:     func(d cluster.Disk) error { return d.SlowFsync(0) },
			counted: func(done cluster.Disturbed) int { return done.Delayed },
		})
	},
})
