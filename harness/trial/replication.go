package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// awaitSync waits until a replica has every write of its master, and records the state of both.
func (r *run) awaitSync(ctx context.Context, replica string, within time.Duration) error {
	master := r.plan.Replicas[replica]
	return r.poll(ctx, within, 10*pollInterval, func() (bool, error) {
		// The replica is read last, so its writes are all in the master's reply.
		ahead, err := r.cluster.Node(master).Look(ctx)
		if err != nil {
			return false, err
		}
		behind, err := r.cluster.Node(replica).Look(ctx)
		if err != nil || !inSync(ahead.Replication, behind.Replication) {
			return false, err
		}
		r.recordNode(master, ahead)
		r.recordNode(replica, behind)
		return true, nil
	}, func() error {
		return preconditionErrorf("%s had not every write of %s within %v", replica, master, within)
	})
}

// awaitPromotion waits until Sentinel or the Redis Cluster has promoted a replica and all of them report it as the
// master to clients. It records the replica's state.
func (r *run) awaitPromotion(ctx context.Context, replica string, within time.Duration) error {
	// Sentinel closes all connections of a server that it promotes, so a read may fail.
	var lookErr error
	return r.poll(ctx, within, 10*pollInterval, func() (bool, error) {
		var seen history.Node
		seen, lookErr = r.cluster.Node(replica).Look(ctx)
		if lookErr != nil || seen.Replication == nil || seen.Replication.Role != history.RoleMaster {
			return false, nil
		}
		known, err := r.knownAsMaster(ctx, replica)
		if known {
			r.recordNode(replica, seen)
		}
		return known, err
	}, func() error {
		text := fmt.Sprintf("%s had not been made the master within %v", replica, within)
		if lookErr != nil {
			text += ": " + lookErr.Error()
		}
		return preconditionError(text)
	})
}

// knownAsMaster reports whether every Sentinel, or every member of the Redis Cluster, reports the replica as the
// master.
func (r *run) knownAsMaster(ctx context.Context, replica string) (bool, error) {
	real, ok := r.cluster.(cluster.Real)
	if !ok {
		return false, fmt.Errorf("the %s cluster has neither Sentinels nor a Redis Cluster", r.cluster.Kind())
	}
	if r.plan.RedisCluster != nil {
		return real.Leads(ctx, replica)
	}
	masters, err := real.Masters(ctx)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(masters, func(name string) bool { return name != replica }) &&
		len(masters) == r.plan.Sentinels, nil
}

// inSync reports whether a replica has every write of its master.
func inSync(master, replica *history.Replication) bool {
	return master != nil && replica != nil && master.Role == history.RoleMaster && replica.Role == history.RoleReplica &&
		replica.Linked && replica.History == master.History && replica.Offset >= master.Offset
}

func (r *run) recordNode(name string, seen history.Node) {
	r.record(history.Event{Time: r.cluster.Now(), Process: name, Type: history.TypeNode, Node: &seen})
}

// readRegisters reads each written register at the end, directly from the store. No client may have read a write whose
// reply was lost.
func (r *run) readRegisters(ctx context.Context) error {
	r.clients.mu.Lock()
	keys := slices.Sorted(maps.Keys(r.clients.writtenKeys))
	r.clients.mu.Unlock()
	if len(keys) == 0 {
		return nil
	}
	began := r.cluster.Now()
	store, err := r.cluster.Node(history.StoreName).Look(ctx)
	if err == nil && !store.Up {
		err = errors.New("it is down")
	}
	if err != nil {
		return fmt.Errorf("reading the registers at the store at the end: %w", err)
	}
	for i, key := range keys {
		read := history.Event{Time: began, Process: "harness", Type: history.TypeInvoke, Op: history.OpRead, ID: i + 1,
			Key: key}
		r.record(read)
		read.Time, read.Type, read.Value = r.cluster.Now(), history.TypeOK, store.Keys[client.Register(key)].Token
		r.record(read)
	}
	return nil
}
