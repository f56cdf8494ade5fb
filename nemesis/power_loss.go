package nemesis

import (
	"context"
	"strconv"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/wording"
)

// PowerLoss stops a node's machine: unsynced data is lost.
const PowerLoss = "power-loss"

var _ = declare(&Declaration{
	Kind: PowerLoss, Doc: "a kill that loses all data without an fsync",
	Node:     &Effect{Class: history.NodeDown, Needs: cluster.AbilityPowerLoss},
	Optional: []string{"after"}, Machine: true,
	Draw:    &Draw{Required: []string{"for"}},
	EndedBy: Start,
	Words: Words{
		Noun:        "power loss of",
		Instruction: instructionFor("cut the power of %s: data without an fsync is lost"),
		Begin: func(f history.Fault) string {
			text := "the power of " + targetList(f) + " fails"
			if lost := f.Measured["lost"]; lost != noBytes {
				text += wording.Prefix(": unsynced data is lost, ", lost)
			}
			return text
		},
		Past: "lost power",
	},
	apply: (*Nemesis).powerLoss, undo: (*Nemesis).restartNodes,
})

// powerLoss does not wait for a supervisor, which loses its power too.
func (n *Nemesis) powerLoss(ctx context.Context, f Fault, target string) (*Active, error) {
	_, err := n.stopOrStart(ctx, f, target, func(node cluster.Node, measured map[string]string) error {
		lost, err := node.PowerLoss(ctx)
		measured["lost"] = strconv.FormatInt(lost, 10) + " bytes"
		return err
	})
	return nil, err
}

// noBytes is the measured loss of a node that had synced everything.
const noBytes = "0 bytes"
