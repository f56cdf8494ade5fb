package checker

import (
	"slices"

	"example.org/lockproof/harness/history"
)

// latencies returns the number of grants, how long acquires took, and the longest gap.
func (os *operations) latencies() map[string]int64 {
	var took []int64
	for _, o := range os.kept {
		if o.leased {
			took = append(took, o.done-o.invoked)
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

// longestGap is the longest interval without a grant of any key during some client's acquire.
func (os *operations) longestGap() span {
	var acquires, grants, gaps []span
	for _, o := range os.kept {
		if o.op == history.OpAcquire {
			acquires = append(acquires, o.span())
		}
		if o.leased {
			grants = append(grants, span{o.done, o.done})
		}
	}
	grants = union(grants)
	for _, s := range union(acquires) {
		gaps = append(gaps, s.without(grants)...)
	}
	return longest(gaps)
}
