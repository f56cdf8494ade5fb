package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"lockproof/harness/cluster"
	"lockproof/harness/history"
)

// promote makes a replica a master, as an operator does whose master is gone.
// The proof is its role before and after, and that it goes on from the writes
// that it had: by its offset one can tell what it did not have.
func (n *Nemesis) promote(ctx context.Context, f Fault, target string) error {
	node, err := n.node(target)
	if err != nil {
		return err
	}
	replica, ok := node.(cluster.Replica)
	if !ok {
		return fmt.Errorf("the %s cluster cannot promote it", n.cluster.Kind())
	}
	before, err := n.look(ctx, target)
	if err != nil {
		return err
	}
	if before.Replication == nil {
		return errors.New("it is down, or no replica: its INFO cannot be read")
	}
	if err := replica.Promote(ctx); err != nil {
		return err
	}
	after, err := node.Look(ctx)
	if err != nil {
		return err
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
	n.instant(f, target, nil, proof{measured, effective})
	n.saw(target, after)
	return nil
}
