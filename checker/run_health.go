package checker

import (
	"fmt"

	"example.org/lockproof/checker/traffic"
	"example.org/lockproof/harness/history"
)

// runHealth tells how far the times of a run, and its end, can be believed.
type runHealth struct{ *analysis }

// judge takes back what a run cannot show: every verdict if the harness was
// held up, for its times are then not what they seem, and every "holds" if the
// history was cut short, or a node was not what a Redis server is. A violation stands there, but for one that rests on
// whose the keys were, if nobody can say that.
func (t runHealth) judge(result *Result) {
	if what := t.stalled(); what != "" && t.matters(*result) {
		result.Undecide(Stalled, "%s", what)
		return
	}
	if result.Verdict == history.Holds && !t.finished {
		result.Undecide(Unfinished, "the history has no end line, and stops at %s", formatTime(t.end))
	}
	if f := t.traffic.About(traffic.Cluster); f != nil && result.Verdict == history.Holds {
		result.Undecide(Contradicted, "%s", f)
	}
	p, _ := Find(result.Property)
	if t.doubt != "" && p.Keys && result.Verdict == history.Violated {
		result.Undecide(Unknown, "%s", t.doubt)
	}
}

// matters reports whether anybody looks at a result: it is a verdict, or the
// scenario expects something of its property.
func (t runHealth) matters(result Result) bool {
	_, expected := t.header.Expect[result.Property]
	return expected || result.Verdict != history.Inconclusive
}

// stalled names the worst stall that spoils the run, if one does.
func (t runHealth) stalled() string {
	if !t.header.RealTime || t.header.StallLimit <= 0 {
		return ""
	}
	var worst stall
	for _, s := range t.stalls {
		// A process that was paused cannot tell the pause from a stall when it wakes, but a pause
		// excuses no more than it lasted.
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

// stall is a stretch for which a process of the harness was held up.
type stall struct {
	process string
	span
}
