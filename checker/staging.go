package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// staging tells whether a scenario's setting came about: clients that reach some of the
// nodes only, by which it is settled who gets whose key. A lock that waits for all of its
// nodes is granted by none then, and fails in each such scenario for that one cause.
type staging struct{ *analysis }

// hangs is the reason of whatever such a trial cannot show: the same in every scenario.
const hangs = "the lock was not granted: it waited for a node that is out of reach from the start " +
	"(hung-node tests that a lock goes on without one)"

// hangsAtRelease is the reason where the lock was granted all the same: the rest of such a
// trial shows what it is about.
const hangsAtRelease = "a release of the lock waited for a node that is out of reach from the start " +
	"(hung-node tests that a lock goes on without one)"

// judge takes back what a trial cannot show whose setting did not come about. A violation
// that follows from that is none of what the scenario is about, unless it expects
// something of fault tolerance, which is what the lock then lacks; any other blocks.
func (s *staging) judge(results []Result) {
	failed := s.lacksGrants()
	for i := range results {
		r := &results[i]
		switch {
		case !s.about(r.Property) || r.Verdict != history.Violated || !every(r.Violations, s.hung):
		case every(r.Violations, func(v Violation) bool { return v.release }):
			r.Undecide(Vacuous, hangsAtRelease)
		default:
			r.Undecide(Unstaged, hangs)
			failed = true
		}
	}
	for i := range results {
		_, expected := s.header.Expect[results[i].Property]
		if failed && (results[i].Verdict == history.Holds || results[i].Verdict == history.Inconclusive && expected) {
			results[i].Undecide(Unstaged, hangs)
		}
	}
}

// lacksGrants reports whether a grant that the scenario needs is missing because of that: nobody
// held the lock, and for more than a TTL an attempt waited for a node that the setting keeps away,
// where the bounds of a liveness property are wider than that.
func (s *staging) lacksGrants() bool {
	if s.counts.grants >= s.header.Earned.Grants {
		return false
	}
	for _, k := range s.keys {
		for _, o := range k.acquires {
			wait := span{o.asked, o.done}
			if o.outcome != failed || wait.length() <= s.header.TTL || cuts(k.held, wait) ||
				cuts(k.unreachable[o.process], wait) {
				continue
			}
			if s.waitsForSetting(o.process, wait) {
				return true
			}
		}
	}
	return false
}

// cuts reports whether disjoint, ordered spans take something of a wait.
func cuts(spans []span, wait span) bool { return total(wait.without(spans)) < wait.length() }

// about reports whether a violation of a property may be that the setting did not come
// about, and nothing else.
func (s *staging) about(property string) bool {
	expected := s.header.Expect[property]
	return property == DeadlockFreedom && expected != history.Violated || property == FaultTolerance && expected == ""
}

func every(violations []Violation, is func(Violation) bool) bool {
	return !slices.ContainsFunc(violations, func(v Violation) bool { return !is(v) })
}

// hung reports whether a violation is that a client waited for a node that the setting keeps
// from it.
func (s *staging) hung(v Violation) bool {
	return len(v.Processes) > 0 && s.waitsForSetting(v.Processes[0], span{v.From, v.Until})
}

// waitsForSetting reports whether a client, for more than half of a wait, sent nothing to anybody while a
// link of its was cut by the setting: a majority had answered; or what it sent into that link came
// when nothing else was under way, and nothing else followed. A history that does not say what was
// sent there does not show otherwise.
func (s *staging) waitsForSetting(client string, wait span) bool {
	var cuts []fault
	for _, f := range s.faults {
		if f.link.From == client && f.cause.Background && f.class == history.LinkCut && wait.meets([]span{f.span}) {
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
		if len(f.sent) == 0 { // it is not known when, or whether
			return f.impact == nil || *f.impact > 0
		}
		return slices.ContainsFunc(f.sent,
			func(t int64) bool { return t >= wait.from && t-wait.from <= wait.length()/2 && t > last })
	})
}

// idle is how long a client waited for something, of the gaps between what it sent: the longest, or all that are longer
// than who asks alone may need for a grant, tries and pauses included. A lock that waits for all of its nodes does so
// when it takes its keys, and once more when it gives them back.
func (s *staging) idle(gaps []span) int64 {
	var all int64
	for _, gap := range gaps {
		if grant := s.header.Bounds.Grant; grant > 0 && gap.length() > grant {
			all += gap.length()
		}
	}
	return max(all, longest(gaps).length())
}

// traffic gives the moments at which a client's commands reached a node, how many nodes had
// answered it something by the end of a wait, and when the last of all that was.
func (s *staging) traffic(client string, wait span) (sent []span, answered int, last int64) {
	nodes := map[string]bool{}
	last = -1
	for _, m := range s.answers.messages[client] {
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
