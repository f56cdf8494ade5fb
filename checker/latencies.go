package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// latencies gives the number of grants and how long acquires took.
func (os *operations) latencies() map[string]int64 {
	took := make([]int64, 0, len(os.grants))
	for _, o := range os.kept {
		if o.leased {
			took = append(took, o.done-o.asked)
		}
	}
	measured := map[string]int64{"grants": int64(len(took))}
	if len(took) > 0 {
		slices.Sort(took)
		measured["acquire_p50"] = took[(len(took)-1)*50/100]
		measured["acquire_p99"] = took[(len(took)-1)*99/100]
	}
	return measured
}

// longestGap is the longest stretch without a grant of any key while somebody
// was waiting for one.
func (os *operations) longestGap() span {
	grants := os.grants
	var waiting, best span
	gap := func() { // of the merged waits that are over
		for len(grants) > 0 && grants[0] < waiting.until {
			best = longest([]span{best, {waiting.from, grants[0]}})
			waiting.from, grants = max(waiting.from, grants[0]), grants[1:]
		}
		best = longest([]span{best, waiting})
	}
	for _, o := range os.kept { // in the order of asked
		switch {
		case o.op != history.OpAcquire:
		case o.asked <= waiting.until:
			waiting.until = max(waiting.until, o.done)
		default:
			gap()
			waiting = span{o.asked, o.done}
		}
	}
	gap()
	return best
}
