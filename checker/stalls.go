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
		result.undecide("stalled: %s", what)
		return
	}
	if result.Verdict == history.Holds && !r.finished {
		result.undecide("unfinished: the history has no end line, and stops at %s", at(r.end))
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
		if e.Type == history.TypeStall && e.Late >= r.header.StallLimit && e.Late > worst.Late && !r.asked(e.Event) {
			worst = e.Event
		}
	}
	if worst.Late == 0 {
		return ""
	}
	return fmt.Sprintf("%s was held up for %s at %s", worst.Process, lasting(worst.Late), at(worst.Time))
}

// asked reports whether a stall is a pause that the nemesis asked for: a paused
// process cannot tell it from a stall when it wakes.
func (r *run) asked(stall history.Event) bool {
	return (span{stall.Time - stall.Late, stall.Time}).meets(r.paused(stall.Process))
}
