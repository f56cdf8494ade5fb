package checker

import (
	"slices"
	"strings"

	"lockproof/harness/history"
)

// staging tells whether a scenario's setting came about: clients that reach some of the
// nodes only, by which it is settled who gets whose key. A lock that waits for all of its
// nodes is granted by none then, and fails in each such scenario for that one cause.
type staging struct {
	*analysis
	blamer *blamer
}

// hangs is the reason of whatever such a trial cannot show: the same in every scenario.
const hangs = "the lock does not lock while a node hangs, though a majority answers (hung-node is about that), and here " +
	"some hang to begin with"

// hangsAtRelease is the reason where the lock was granted all the same: the rest of such a
// trial shows what it is about.
const hangsAtRelease = "a release of the lock does not return while a node hangs, though a majority answers (hung-node is about that), " +
	"and here some hang to begin with"

// untold is the reason where nothing shows whether it was that.
const untold = "some nodes hang to begin with, and it is not known whether the lock waited for one of them (hung-node is about that)"

// judge takes back what a trial cannot show whose setting did not come about. A violation
// that follows from that is none of what the scenario is about, unless it expects
// something of fault tolerance, which is what the lock then lacks; any other stands.
func (s staging) judge(results []Result) {
	failed := s.lacksGrants()
	for i := range results {
		switch {
		case !s.about(results[i].Property) || results[i].Verdict != history.Violated:
		case s.every(results[i], func(v Violation) bool { return s.hung(v) && v.release }):
			results[i].undecide(Vacuous, hangsAtRelease)
		case s.every(results[i], s.hung):
			results[i].undecide(Unstaged, hangs)
			failed = true
		case s.every(results[i], func(v Violation) bool { return s.hung(v) || s.mayHang(v) }):
			results[i].undecide(Unstaged, untold)
		}
	}
	for i := range results {
		_, expected := s.header.Expect[results[i].Property]
		if failed && (results[i].Verdict == history.Holds || results[i].Verdict == history.Inconclusive && expected) {
			results[i].undecide(Unstaged, hangs)
		}
	}
}

// lacksGrants reports whether a grant that the scenario needs is missing because of that: nobody
// held the lock, and for more than a TTL an attempt waited for a node that the setting keeps away,
// where the bounds of a liveness property are wider than that.
func (s staging) lacksGrants() bool {
	if s.counts.grants >= s.header.Earned.Grants {
		return false
	}
	for _, k := range s.keys {
		held := spansOf(k.leases)
		for _, o := range k.acquires {
			wait := span{o.asked, o.done}
			if o.outcome != failed || wait.length() <= s.header.TTL || cuts(held, wait) || cuts(s.unreachable[o.process], wait) {
				continue
			}
			if s.hung(Violation{Blame: (&waitBlame{s.blamer, o, wait}).explainRelease()}) {
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
func (s staging) about(property string) bool {
	expected := s.header.Expect[property]
	return property == DeadlockFreedom && expected != history.Violated || property == FaultTolerance && expected == ""
}

// every reports whether something is true of each violation that a result tells of.
func (s staging) every(r Result, is func(Violation) bool) bool {
	return !slices.ContainsFunc(r.Violations, func(v Violation) bool { return !is(v) })
}

// hung reports whether a violation is blamed on a node that the setting keeps from a client,
// and that was waited for although a majority could be reached.
func (s staging) hung(v Violation) bool {
	return v.Blame != nil && v.Blame.Broke == NodeTimeout &&
		slices.ContainsFunc(s.faults, func(f fault) bool { return f.event == v.Blame.Event && f.cause.Setting })
}

// mayHang reports whether nothing says what a violation is to be blamed on, its client asked
// nobody anything for most of it, and it may have sent something to a node that the setting
// keeps from it: a run that was cut short, or a history of an older release, does not say.
func (s staging) mayHang(v Violation) bool {
	if v.Blame == nil || v.Blame.Broke != Unexplained || len(v.Processes) == 0 {
		return false
	}
	client, wait := v.Processes[0], span{v.From, v.Until}
	unknown := func(f fault) bool {
		link, _, isLink := strings.Cut(f.target, "-")
		silent := f.met != nil && *f.met == 0
		return isLink && link == client && f.cause.Setting && f.class == history.LinkCut && !silent &&
			len(f.sent) == 0 && wait.meets([]span{f.span})
	}
	if !slices.ContainsFunc(s.faults, unknown) {
		return false
	}
	var asked []span
	for _, x := range s.blamer.exchanges() {
		if x.client == client {
			asked = append(asked, span{x.asked, x.asked})
		}
	}
	return 2*longest(wait.without(union(asked))).length() > wait.length()
}
