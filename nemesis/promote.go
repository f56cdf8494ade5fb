package nemesis

import (
	"context"
	"errors"
	"strconv"

	"example.org/lockproof/harness/history"
)

// Promote makes a replica a master.
const Promote = "promote"

var _ = declare(&Declaration{
	Kind: Promote, Doc: "makes the replica a master (REPLICAOF NO ONE)",
	Replica: &Effect{Class: history.Failover},
	Words: Words{
		Noun:        "promotion of",
		Instruction: instructionFor("make %s a master (REPLICAOF NO ONE)"),
		Begin: func(f history.Fault) string {
			return targetList(f) + " " + isOrAre(f) + " promoted: a master from here on" + keysText(f.Measured["keys"])
		},
		Past: "was promoted",
	},
	apply: (*Nemesis).promote,
})

// promote makes a replica a master, as an operator does after the loss of the master. The proof is its role before and
// after, with the same run ID. Its offset shows which writes it lacked.
func (n *Nemesis) promote(ctx context.Context, f Fault, target string) (*Active, error) {
	replica, err := n.node(target)
	if err != nil {
		return nil, err
	}
	before, err := n.Inspect(ctx, target)
	if err != nil {
		return nil, err
	}
	if before.Replication == nil {
		return nil, errors.New("INFO shows no replication: it is down, or not a replica")
	}
	if err := replica.Promote(ctx); err != nil {
		return nil, err
	}
	after, err := replica.Look(ctx)
	if err != nil {
		return nil, err
	}
	measured := map[string]string{
		"role before": string(before.Replication.Role), "offset before": strconv.FormatInt(before.Replication.Offset, 10),
		"linked before": strconv.FormatBool(before.Replication.Linked), "keys": strconv.Itoa(len(after.Keys)),
	}
	effective := false
	if now := after.Replication; now != nil {
		measured["role"], measured["offset"] = string(now.Role), strconv.FormatInt(now.Offset, 10)
		effective = before.Replication.Role == history.RoleReplica && now.Role == history.RoleMaster &&
			after.RunID == before.RunID
	}
	n.recordInstant(f, target, history.Asked{}, proof{measured: measured, effective: effective})
	n.RecordNode(target, after)
	return nil, nil
}
