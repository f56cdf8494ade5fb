package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lockproof/harness/history"
)

// What goes through ordered lists once is held against what looks at every
// moment.

func drawSpans(t *rapid.T) []span {
	spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span {
		from := rapid.Int64Range(0, 40).Draw(t, "from")
		return span{from, from + rapid.Int64Range(1, 12).Draw(t, "length")}
	}), 0, 12).Draw(t, "spans")
	slices.SortFunc(spans, func(a, b span) int { return int(a.from - b.from) })
	return spans
}

// moments are those that any of the spans covers.
func moments(spans []span) []int64 {
	var all []int64
	for at := range int64(60) {
		if slices.ContainsFunc(spans, func(s span) bool { return s.from <= at && at < s.until }) {
			all = append(all, at)
		}
	}
	return all
}

func TestUnionIntoIsTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpans(t), drawSpans(t)
		got := unionInto(nil, union(a), union(b))
		require.True(t, slices.Equal(union(slices.Concat(a, b)), got))
		require.Equal(t, moments(slices.Concat(a, b)), moments(got))
	})
}

func TestBusyForLeavesOutAClientsOwnAttempts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		client := func() string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "client") }
		var acquires []*operation
		var leases []Lease
		var busy []span
		for _, s := range drawSpans(t) {
			o := &operation{Process: client(), Op: history.OpAcquire, asked: s.from, done: s.until}
			acquires = append(acquires, o)
			if o.Process != "a" {
				busy = append(busy, s)
			}
		}
		for _, s := range drawSpans(t) {
			leases, busy = append(leases, Lease{Client: client(), From: s.from, Until: s.until}), append(busy, s)
		}
		require.Equal(t, moments(busy), moments(busyFor(claimsOn(acquires, leases, nil), "a")))
	})
}
