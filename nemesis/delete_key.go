package nemesis

import (
	"context"
	"slices"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// DeleteKey is a third party's DEL of a lock's key.
const DeleteKey = "delete-key"

var _ = declare(&Declaration{
	Kind: DeleteKey, Doc: "a third party deletes the key, whatever its token: a clean-up job, or a forced unlock",
	Node:     &Effect{Class: history.NodeForgets},
	Optional: []string{"key"},
	Words: Words{
		Noun:        "deletion of the key on",
		Instruction: instructionFor("delete the lock's key on %s, whatever its token"),
		Begin: func(f history.Fault) string {
			return "a third party deletes " + f.Asked.Key + " on " + targetList(f)
		},
		Past: "had the key deleted by another program",
	},
	apply: (*Nemesis).deleteKey,
})

// deleteKey deletes a key without the lock. The proof is that the key no longer has its owner's token.
func (n *Nemesis) deleteKey(ctx context.Context, f Fault, target string) (*Active, error) {
	var reply string
	_, after, gone, err := n.keysGone(ctx, target, func(node cluster.Node) (err error) {
		reply, err = node.Command(ctx, "DEL "+f.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	deleted := 0
	if slices.Contains(gone, f.Key) {
		deleted = 1
	}
	measured := map[string]string{"reply": reply}
	n.recordInstant(f, target, history.Asked{Key: f.Key},
		proof{measured: measured, effective: deleted == 1, affected: &deleted})
	n.RecordNode(target, after)
	return nil, nil
}
