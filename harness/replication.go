package harness

import (
	"context"
	"fmt"
	"time"

	"lockproof/harness/history"
)

// awaitSync waits until a replica has every write of its master, and records
// both as they were then.
func (r *run) awaitSync(ctx context.Context, replica string, within time.Duration) error {
	master := r.plan.Replicas[replica]
	deadline := r.cluster.Now() + int64(within)
	for {
		// The replica is looked into last: what it has then, the master had.
		ahead, err := r.cluster.Node(master).Look(ctx)
		if err != nil {
			return err
		}
		behind, err := r.cluster.Node(replica).Look(ctx)
		if err != nil {
			return err
		}
		if inSync(ahead.Replication, behind.Replication) {
			r.saw(master, ahead)
			r.saw(replica, behind)
			return nil
		}
		if r.cluster.Now() > deadline {
			return fmt.Errorf("%w: %s had not every write of %s within %v", errUnmet, replica, master, within)
		}
		if err := r.cluster.Sleep(ctx, poll); err != nil {
			return err
		}
	}
}

// inSync says whether a replica has every write that its master has.
func inSync(master, replica *history.Replication) bool {
	return master != nil && replica != nil && master.Role == history.RoleMaster && replica.Role == history.RoleReplica &&
		replica.Linked && replica.History == master.History && replica.Offset >= master.Offset
}

func (r *run) saw(name string, seen history.Node) {
	r.record(history.Event{Time: r.cluster.Now(), Process: name, Type: history.TypeNode, Node: &seen})
}
