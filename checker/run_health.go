package checker

import (
	"fmt"

	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// runHealth decides whether a run's times, its end and its nodes' replies can be trusted.
type runHealth struct{ *record }

// judge takes back what a run cannot show. If the harness was held up, its times prove nothing, and no verdict stands.
// If it lacks an operation, none stands either: the missing one may be a release, or the write that a read found. If
// the history was cut short, or a node did not behave as a Redis server, no "holds" stands, but a violation does. If
// the owners of keys are unknown, a violation that rests on them does not stand either.
func (t runHealth) judge(result *Result) {
	if what := t.stalled(); what != "" && t.matters(*result) {
		result.Undecide(Stalled, "%s", what)
		return
	}
	if result.Verdict != history.Inconclusive && t.missing != "" {
		result.Undecide(Unfinished, "%s", t.missing)
	}
	if result.Verdict == history.Holds && !t.finished {
		result.Undecide(Unfinished, "the history has no end line, and stops at %s", formatTime(t.end))
	}
	if f := t.traffic.About(traffic.Cluster); f != nil && result.Verdict == history.Holds {
		result.Undecide(Contradicted, "%s", f)
	}
	p, _ := Find(result.Property)
	if t.keysUnknown != "" && p.Keys && result.Verdict == history.Violated {
		result.Undecide(Unknown, "%s", t.keysUnknown)
	}
}

// matters reports whether a result is a verdict, or the scenario expects one of its property.
func (t runHealth) matters(result Result) bool {
	_, expected := t.header.Expect[result.Property]
	return expected || result.Verdict != history.Inconclusive
}

// stalled describes the longest stall that spoils the run; "": none.
func (t runHealth) stalled() string {
	if !t.header.RealTime || t.header.StallLimit <= 0 {
		return ""
	}
	var worst stall
	for _, s := range t.stalls {
		// A process that was paused reports the pause as a stall when it wakes. A pause excuses only its own time.
		unexplained := total(s.without(t.faults.paused(s.process)))
		if s.length() > worst.length() && unexplained >= t.header.StallLimit {
			worst = s
		}
	}
	if worst.length() == 0 {
		return ""
	}
	return fmt.Sprintf("%s was held up for %s at %s", worst.process, formatDuration(worst.length()),
		formatTime(worst.until))
}

// stall is an interval in which a process of the harness was held up.
type stall struct {
	process string
	span
}
