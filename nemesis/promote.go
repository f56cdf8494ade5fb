package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// Promote makes a replica a master.
const Promote = "promote"

var _ = declare(&Declaration{
	Kind: Promote, Doc: "makes the replica a master (REPLICAOF NO ONE)",
	Replica: &Effect{Class: history.Failover},
	Met:     "not counted: that it is a master is measured, and the checker looks for a client that asks from then on",
	Words: Words{
		ToDo: order("make %s a master (REPLICAOF NO ONE)"),
		Begun: func(f history.Fault) string {
			return who(f) + " " + is(f) + " promoted: a master from here on" + keysFound(f.Measured["keys"])
		},
		Was: "was promoted",
	},
	apply: (*Nemesis).promote,
})

// promote makes a replica a master, as an operator does whose master is gone.
// The proof is its role before and after, and that it goes on from the writes
// that it had: by its offset one can tell what it did not have.
func (n *Nemesis) promote(ctx context.Context, f Fault, target string) (*Active, error) {
	node, err := n.node(target)
	if err != nil {
		return nil, err
	}
	replica, ok := node.(cluster.Replica)
	if !ok {
		return nil, fmt.Errorf("the %s cluster cannot promote it", n.cluster.Kind())
	}
	before, err := n.look(ctx, target)
	if err != nil {
		return nil, err
	}
	if before.Replication == nil {
		return nil, errors.New("it is down, or no replica: its INFO cannot be read")
	}
	if err := replica.Promote(ctx); err != nil {
		return nil, err
	}
	after, err := node.Look(ctx)
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
		effective = before.Replication.Role == history.RoleReplica && now.Role == history.RoleMaster && after.RunID == before.RunID
	}
	n.instant(f, target, nil, proof{measured: measured, effective: effective})
	n.saw(target, after)
	return nil, nil
}
