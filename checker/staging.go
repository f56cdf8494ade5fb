package checker

import (
	"slices"

	"lockproof/harness/history"
)

// staging tells whether a scenario's setting came about: clients that reach some of the
// nodes only, by which it is settled who gets whose key. A lock that waits for all of its
// nodes is granted by none then, and fails in each such scenario for that one cause.
type staging struct{ *analysis }

// hangs is the reason of whatever such a trial cannot show: the same in every scenario.
const hangs = "the lock does not lock while a node hangs, though a majority answers (hung-node is about that), and here " +
	"some hang to begin with"

// judge takes back what a trial cannot show whose setting did not come about. A violation
// that follows from that is none of what the scenario is about, unless it expects
// something of fault tolerance, which is what the lock then lacks; any other stands.
func (s staging) judge(results []Result) {
	failed := false
	for i := range results {
		if s.about(results[i].Property) && s.hung(results[i]) {
			results[i].undecide(Unstaged, hangs)
			failed = true
		}
	}
	for i := range results {
		_, expected := s.header.Expect[results[i].Property]
		if failed && (results[i].Verdict == history.Holds || results[i].Verdict == history.Inconclusive && expected) {
			results[i].undecide(Unstaged, hangs)
		}
	}
}

// about reports whether a violation of a property may be that the setting did not come
// about, and nothing else.
func (s staging) about(property string) bool {
	expected := s.header.Expect[property]
	return property == DeadlockFreedom && expected != history.Violated || property == FaultTolerance && expected == ""
}

// hung reports whether each violation of a result is blamed on a node that the setting
// keeps from a client, and that was waited for although a majority had answered.
func (s staging) hung(r Result) bool {
	return r.Verdict == history.Violated && !slices.ContainsFunc(r.Violations, func(v Violation) bool {
		if v.Blame == nil || v.Blame.Broke != NodeTimeout {
			return true
		}
		return !slices.ContainsFunc(s.faults, func(f fault) bool { return f.event == v.Blame.Event && f.cause.Setting })
	})
}
