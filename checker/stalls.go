package checker

import (
	"fmt"

	"lockproof/harness/history"
)

// distrust takes back what a run cannot show: every verdict if the harness was
// held up, for its times are then not what they seem, and every "holds" if the
// history was cut short. A violation of an unfinished run stands.
func (r *run) distrust(result *Result) {
	if what := r.stalled(); what != "" && r.matters(*result) {
		result.undecide(Stalled, "%s", what)
		return
	}
	if result.Verdict == history.Holds && !r.finished {
		result.undecide(Unfinished, "the history has no end line, and stops at %s", at(r.end))
	}
}

// matters reports whether anybody looks at a result: it is a verdict, or the
// scenario expects something of its property.
func (r *run) matters(result Result) bool {
	_, expected := r.header.Expect[result.Property]
	return expected || result.Verdict != history.Inconclusive
}

// stalled names the worst stall that spoils the run, if one does.
func (r *run) stalled() string {
	if !r.header.RealTime || r.header.StallLimit <= 0 {
		return ""
	}
	var worst history.Event
	for _, e := range r.rare {
		if e.Type == history.TypeStall && e.Late > worst.Late && r.unasked(e.Event) >= r.header.StallLimit {
			worst = e.Event
		}
	}
	if worst.Late == 0 {
		return ""
	}
	return fmt.Sprintf("%s was held up for %s at %s", worst.Process, lasting(worst.Late), at(worst.Time))
}

// unasked is how much of a stall no pause of that process explains: a process that
// was paused cannot tell the pause from a stall when it wakes, but a pause excuses
// no more than it lasted.
func (r *run) unasked(stall history.Event) (left int64) {
	for _, s := range (span{stall.Time - stall.Late, stall.Time}).without(r.paused(stall.Process)) {
		left += s.length()
	}
	return left
}
