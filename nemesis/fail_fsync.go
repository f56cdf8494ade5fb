package nemesis

import (
	"context"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// FailFsync makes the fsyncs of a node's disk fail.
const FailFsync = "fail-fsync"

var _ = declare(&Declaration{
	Kind: FailFsync, Doc: "makes each fsync on the node's disk fail with an I/O error (EIO)",
	Node:     &Effect{Class: history.NodeDisk, Needs: cluster.AbilityDisk},
	Optional: []string{"for"},
	Words: Words{
		Noun:        "failing fsyncs of",
		Instruction: instructionFor("make each fsync of %s fail (EIO)"),
		Begin: func(f history.Fault) string {
			return "each fsync of " + targetList(f) + " fails from here on" + wording.Prefix(" with ", f.Asked.Error)
		},
		End: fsyncEndText,
	},
	apply: func(n *Nemesis, _ context.Context, f Fault, target string) (*Active, error) {
		return n.fsync(f, target, history.Asked{Error: "EIO"}, fsyncFault{
			set:   func(d *cluster.DiskFaults, on bool) { d.Fail = on },
			count: func(done cluster.Disturbed) int { return done.Failed },
		})
	},
})
