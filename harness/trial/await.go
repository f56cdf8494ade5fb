package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

const pollInterval = 500 * time.Microsecond

// recordLinkCounts records the messages on a client's links before its operation, if a step of the script waits for
// them. With links in another process, each request takes time in which others get ahead.
func (r *run) recordLinkCounts(name string) {
	for _, s := range r.plan.Script {
		for _, target := range s.Targets {
			link, _ := history.LinkOf(target)
			if s.Verb == scenarios.VerbUntil && link.From == name {
				command := s.Of
				received, answered := r.cluster.Link(link.From, link.To).Count(command)
				r.linkCounts[target+" "+command] = [2]int{received, answered}
			}
		}
	}
}

func (r *run) stepTimeout(s scenarios.Step) time.Duration {
	if s.Within.IsZero() {
		return 5 * r.plan.TTL
	}
	return r.duration(s.Within)
}

// answerLimit is the time after which a client without a reply counts as hung: longer than any operation's own
// deadline.
func (r *run) answerLimit(within scenarios.Span) time.Duration {
	return r.duration(within) + 60*r.plan.TTL + 10*time.Second
}

// awaitOperation waits for an operation's result. If there is none long after its context has ended, its caller cancels
// it once more, in the history, and the checker judges how long it goes on. Then the client is killed.
func (r *run) awaitOperation(ctx context.Context, name string, p pending) (client.Message, error) {
	limit, bound := r.answerLimit(p.step.Within), time.Duration(r.plan.bounds().Cancel)
	msg, err := r.clients.awaitReply(ctx, name, p.done, limit)
	if !errors.Is(err, errNoReply) {
		return msg, err
	}
	if err := r.cancel(name); err != nil {
		return msg, err
	}
	msg, err = r.clients.awaitReply(ctx, name, p.done, 2*bound)
	if !errors.Is(err, errNoReply) {
		return msg, err
	}
	if err := r.clients.giveUp(name); err != nil {
		return msg, err
	}
	return msg, preconditionErrorf("%s's %s, whose caller had given up, had not returned after %v", name, p.step.Verb,
		limit+2*bound)
}

// awaitMessage waits until the node has received or answered a command of the client's current operation.
func (r *run) awaitMessage(ctx context.Context, s scenarios.Step) error {
	within, command := r.stepTimeout(s), s.Of
	for _, target := range s.Targets {
		link, _ := history.LinkOf(target)
		before := r.linkCounts[target+" "+command]
		done, err := cluster.Poll(ctx, r.cluster, within, pollInterval, func() (bool, error) {
			received, answered := r.cluster.Link(link.From, link.To).Count(command)
			return s.Has == "answered" && answered > before[1] || s.Has == "received" && received > before[0], nil
		})
		switch {
		case err != nil:
			return err
		case !done:
			return preconditionErrorf("%s had not %s %s's %s within %v", link.To, s.Has, link.From, command, within)
		}
	}
	return nil
}

// awaitExpiry waits until every expiring key of a node has expired, also a counter that lasts a day.
func (r *run) awaitExpiry(ctx context.Context, name string) error {
	node, ok := r.cluster.Node(name).(interface{ LongestTTL() time.Duration })
	if !ok {
		return preconditionErrorf("%s runs in real time: its keys may take days to expire", name)
	}
	return r.cluster.Sleep(ctx, node.LongestTTL())
}

// awaitSync waits until a replica has every write of its master, and records the state of both.
func (r *run) awaitSync(ctx context.Context, replica string, within time.Duration) error {
	master := r.plan.Replicas[replica]
	done, err := cluster.Poll(ctx, r.cluster, within, 10*pollInterval, func() (bool, error) {
		// The replica is read last, so its writes are all in the master's reply.
		ahead, err := r.cluster.Node(master).Look(ctx)
		if err != nil {
			return false, err
		}
		behind, err := r.cluster.Node(replica).Look(ctx)
		if err != nil || !inSync(ahead.Replication, behind.Replication) {
			return false, err
		}
		r.nemesis.RecordNode(master, ahead)
		r.nemesis.RecordNode(replica, behind)
		return true, nil
	})
	if err == nil && !done {
		return preconditionErrorf("%s had not every write of %s within %v", replica, master, within)
	}
	return err
}

// awaitPromotion waits until Sentinel or the Redis Cluster has promoted a replica and all of them report it as the
// master to clients. It records the replica's state.
func (r *run) awaitPromotion(ctx context.Context, replica string, within time.Duration) error {
	// Sentinel closes all connections of a server that it promotes, so a read may fail.
	var lookErr error
	done, err := cluster.Poll(ctx, r.cluster, within, 10*pollInterval, func() (bool, error) {
		var seen history.Node
		seen, lookErr = r.cluster.Node(replica).Look(ctx)
		if lookErr != nil || seen.Replication == nil || seen.Replication.Role != history.RoleMaster {
			return false, nil
		}
		known, err := r.knownAsMaster(ctx, replica)
		if known {
			r.nemesis.RecordNode(replica, seen)
		}
		return known, err
	})
	if err != nil || done {
		return err
	}
	text := fmt.Sprintf("%s had not been made the master within %v", replica, within)
	if lookErr != nil {
		text += ": " + lookErr.Error()
	}
	return preconditionError(text)
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
