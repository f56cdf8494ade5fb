package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// needsAllNodes detects locks that cannot work with a scenario's background cuts, which let clients reach some of the
// nodes only and so decide which client gets which key. A lock that waits for all of its nodes is then never granted,
// and would fail each such scenario for this one cause.
type needsAllNodes struct{ *record }

// reasonCutNode is the reason for everything that such a trial cannot show: the same in every scenario.
const reasonCutNode = "the lock was not granted: it waited for a node that is out of reach from the start " +
	"(hung-node tests that a lock goes on without one)"

// reasonCutNodeAtRelease is the reason if the lock was granted nevertheless: the rest of such a trial counts.
const reasonCutNodeAtRelease = "a release of the lock waited for a node that is out of reach from the start " +
	"(hung-node tests that a lock goes on without one)"

// judge takes back the liveness violations that are only waits for a node that the background cuts off, unless the
// scenario expects them. If anything but a release waited, or a required grant is missing for this reason, the trial
// did not show what the scenario is about: no "holds" stands either.
func (s *needsAllNodes) judge(results []Result) {
	failed := s.lacksGrants()
	for i := range results {
		r := &results[i]
		switch {
		case !s.mayBeWait(r.Property) || r.Verdict != history.Violated || !every(r.Violations, s.waitedForCutNode):
		case every(r.Violations, func(v Violation) bool { return v.release }):
			r.Undecide(Vacuous, reasonCutNodeAtRelease)
		default:
			r.Undecide(NeedsAllNodes, reasonCutNode)
			failed = true
		}
	}
	for i := range results {
		_, expected := s.header.Expect[results[i].Property]
		if failed && (results[i].Verdict == history.Holds || results[i].Verdict == history.Inconclusive && expected) {
			results[i].Undecide(NeedsAllNodes, reasonCutNode)
		}
	}
}

// lacksGrants reports whether a required grant is missing because of such a wait, which the liveness bounds may be too
// wide to show: an attempt waited for longer than a TTL while no client held the lock and a majority was in reach.
func (s *needsAllNodes) lacksGrants() bool {
	if s.counts.grants >= s.header.Earned.Grants {
		return false
	}
	for _, k := range s.keys {
		for _, o := range k.acquires {
			wait := o.span()
			if o.outcome != failed || wait.length() <= s.header.TTL || cuts(k.held, wait) ||
				cuts(k.unreachable[o.process], wait) {
				continue
			}
			if s.waitsForCutNode(o.process, wait) {
				return true
			}
		}
	}
	return false
}

// cuts reports whether disjoint, ordered spans cover a part of a wait.
func cuts(spans []span, wait span) bool { return total(wait.without(spans)) < wait.length() }

// mayBeWait reports whether a violation of a property may be such a wait only: of deadlock freedom unless the
// scenario expects it, of fault tolerance unless the scenario expects anything of it.
func (s *needsAllNodes) mayBeWait(property string) bool {
	expected := s.header.Expect[property]
	return property == DeadlockFreedom && expected != history.Violated || property == FaultTolerance && expected == ""
}

func every(violations []Violation, is func(Violation) bool) bool {
	return !slices.ContainsFunc(violations, func(v Violation) bool { return !is(v) })
}

// waitedForCutNode reports whether a violation is a client's wait for a node that the background cuts off. The commands
// and replies of that wait may precede the violation, which begins once nothing excuses it: they count from the call of
// its acquire.
func (s *needsAllNodes) waitedForCutNode(v Violation) bool {
	if len(v.Processes) == 0 {
		return false
	}
	wait := span{v.From, v.Until}
	for _, o := range s.key(v.Key).acquires {
		if o.process == v.Processes[0] && o.invoked <= v.From && o.done > v.From {
			wait.from = o.invoked
		}
	}
	return s.waitsForCutNode(v.Processes[0], wait)
}

// waitsForCutNode reports whether a client sent nothing for more than half of a wait while the background cut one of
// its links. Either a majority had replied; or the client sent a command into the cut link in the first half of the
// wait, and no message on its other links followed. A history without these send times does not show the contrary.
func (s *needsAllNodes) waitsForCutNode(client string, wait span) bool {
	var cuts []fault
	for _, f := range s.faults {
		if f.link.From == client && f.Background && f.Class == history.LinkCut && wait.touches([]span{f.span}) {
			cuts = append(cuts, f)
		}
	}
	if len(cuts) == 0 {
		return false
	}
	sent, answered, last := s.traffic(client, wait)
	if 2*s.idle(wait.without(sent)) <= wait.length() {
		return false
	}
	if answered > len(s.nodesOf(client))/2 {
		return true
	}
	return slices.ContainsFunc(cuts, func(f fault) bool {
		if len(f.sent) == 0 { // unknown times
			return f.impact == nil || *f.impact > 0
		}
		return slices.ContainsFunc(f.sent,
			func(t int64) bool { return t >= wait.from && t-wait.from <= wait.length()/2 && t > last })
	})
}

// idle is how long a client waited, of the gaps between its commands: the longest gap, or the sum of those longer than
// Bounds.Grant, which covers the attempts and pauses of a client alone. A lock that waits for all of its nodes does so
// in an acquire, and again in its release.
func (s *needsAllNodes) idle(gaps []span) int64 {
	var all int64
	for _, gap := range gaps {
		if grant := s.header.Bounds.Grant; grant > 0 && gap.length() > grant {
			all += gap.length()
		}
	}
	return max(all, longest(gaps).length())
}

// traffic returns the times of a client's commands, the number of nodes that replied within a wait, and the time of the
// last message by its end.
func (s *needsAllNodes) traffic(client string, wait span) (sent []span, answered int, last int64) {
	nodes := map[string]bool{}
	last = -1
	for _, m := range s.replies.messages[client] {
		if m.time > wait.until {
			break
		}
		last = m.time
		if m.command {
			sent = append(sent, span{m.time, m.time})
		} else if m.time >= wait.from {
			nodes[m.node] = true
		}
	}
	return union(sent), len(nodes), last
}
