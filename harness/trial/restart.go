package trial

import (
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// restartTTL is the extra TTL, unless the user sets one, on a cluster whose servers take time to restart, and the
// share of it for restarts: one restart for each node that the script restarts within a lease. If the script waits a
// part of a TTL before the node comes back, that part grows as well.
func restartTTL(s *scenarios.Scenario, restart time.Duration) (longer, restarting time.Duration) {
	if restart == 0 {
		return 0, 0
	}
	lasts := s.TTL // the longest TTL of any client
	for _, c := range s.Clients {
		lasts = max(lasts, c.TTL.In(s.TTL))
	}
	for i, step := range s.Script {
		if !step.HasClass(history.NodeDown) {
			continue
		}
		for _, t := range step.Targets {
			if slices.Contains(s.Nodes, t) && s.Workload == nil &&
				(restartedBySupervisor(s, step) || restartsWithinLease(step, s.Script[i+1:], t, s.TTL, lasts)) {
				share := 1.0 // of the TTL that is left for a restart
				if after := step.After.In(s.TTL); after < lasts {
					share = float64(lasts-after) / float64(s.TTL)
				}
				longer += time.Duration(float64(restart) / share)
				restarting += restart
			}
		}
	}
	return longer, restarting
}

// restartedBySupervisor reports whether a supervisor restarts the step's nodes at once.
func restartedBySupervisor(s *scenarios.Scenario, down scenarios.Step) bool {
	return s.Restart == scenarios.RestartAlways && !down.Fault().Machine
}

// restartsWithinLease reports whether the script restarts the step's node within a lease.
func restartsWithinLease(down scenarios.Step, after []scenarios.Step, node string, ttl, lease time.Duration) bool {
	if !down.After.IsZero() {
		return down.After.In(ttl) < lease
	}
	return slices.ContainsFunc(after, func(s scenarios.Step) bool {
		return s.HasClass(history.NodeUp) && slices.Contains(s.Targets, node)
	})
}
