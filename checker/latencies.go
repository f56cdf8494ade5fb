package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// latencies gives the number of grants and how long acquires took.
func (os *operations) latencies() map[string]int64 {
	var took []int64
	for _, o := range os.kept {
		if o.leased {
			took = append(took, o.done-o.asked)
		}
	}
	measured := map[string]int64{"grants": int64(len(took)), "longest_gap": os.longestGap().length()}
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
	var asked, grants, gaps []span
	for _, o := range os.kept {
		if o.op == history.OpAcquire {
			asked = append(asked, span{o.asked, o.done})
		}
		if o.leased {
			grants = append(grants, span{o.done, o.done})
		}
	}
	grants = union(grants)
	for _, s := range union(asked) {
		gaps = append(gaps, s.without(grants)...)
	}
	return longest(gaps)
}
