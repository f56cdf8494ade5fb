package checker

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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

func TestUnion_CoversTheSameMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawSpans(t), drawSpans(t)
		require.Equal(t, moments(slices.Concat(a, b)), moments(union(a, b)))
	})
}
