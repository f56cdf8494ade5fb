package trial

import (
	"slices"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/scenarios"
)

// restartTTL is how much longer a scenario's TTL is, if the user sets none, where a
// server takes time to restart, and how much of that is for restarts: each node that
// the script restarts within a lease has so much, and where the script lets a part
// of a TTL pass before it comes back, that part grows as well.
func restartTTL(s *scenarios.Scenario, restart time.Duration) (longer, restarting time.Duration) {
	if restart == 0 {
		return 0, 0
	}
	lasts := s.TTL // the longest of any client
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
				share := 1.0 // of the TTL that a restart can have
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

// restartedBySupervisor says whether a supervisor brings back at once what goes down in a
// step.
func restartedBySupervisor(s *scenarios.Scenario, down scenarios.Step) bool {
	return s.Restart == scenarios.RestartAlways && !down.Fault().Machine
}

// restartsWithinLease says whether a node that goes down in a step is to be back within a
// lease.
func restartsWithinLease(down scenarios.Step, after []scenarios.Step, node string, ttl, lease time.Duration) bool {
	if !down.After.IsZero() {
		return down.After.In(ttl) < lease
	}
	return slices.ContainsFunc(after, func(s scenarios.Step) bool {
		return s.HasClass(history.NodeUp) && slices.Contains(s.Targets, node)
	})
}
