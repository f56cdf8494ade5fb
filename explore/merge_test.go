package explore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
)

// withoutMajority is a search that finds something, of three batches and a bit.
func withoutMajority(t *testing.T, p *suite.Pool) Search {
	return Search{Question: Question{Space: space(t, func(s *Space) { s.Without = []string{"Majority"} }), Seed: 3,
		Schedules: 3*batch + 50}, Try: p.Try, Parallel: p.Size()}
}

// timeless is what a search has come to, without what tells of real time.
func timeless(t Tally) Tally {
	t.Elapsed = 0
	for i := range t.Finds {
		t.Finds[i].At = 0
	}
	return t
}

// The slices of a search, merged, are what one machine comes to; without one of them it
// is named.
func TestMerge_SlicesEqualWholeSearch(t *testing.T) {
	needs.Long(t, "it runs a search twice, whole and in slices")
	p := pool(t)
	search := withoutMajority(t, p)
	whole, err := search.Run(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, whole.Finds)
	var parts []Results
	var names []string
	for i := range 3 {
		search.Slice = suite.Slice{Index: i + 1, Count: 3}
		require.NoError(t, search.CheckSlice())
		part, err := search.Run(t.Context())
		require.NoError(t, err)
		parts, names = append(parts, Results{Version: "v1", Question: search.Question, Tally: part}), append(names, fmt.Sprint("out/", i+1))
	}
	merged, err := Merge(parts, names)
	require.NoError(t, err)
	require.Nil(t, merged.Incomplete)
	require.Equal(t, timeless(whole), timeless(merged.Tally))

	merged, err = Merge(parts[1:], names[1:])
	require.NoError(t, err)
	require.Equal(t, "Of 3 slices, 1 is missing", merged.Incomplete.String())
	parts[2].Tally.Next = 2 * batch
	merged, err = Merge(parts, names)
	require.NoError(t, err)
	require.Equal(t, "Of 3 slices, 3 was cut short", merged.Incomplete.String())

	search.Slice.Count = 9
	require.EqualError(t, search.CheckSlice(),
		"434 schedules are 4 batches of 128, which cannot be split into 9 slices: ask for more, or for fewer slices")
}

func TestMerge_RejectsOtherSearch(t *testing.T) {
	one := Results{Version: "v1", Question: Question{Space: Space{Lock: "redlock", TTL: time.Second}, Seed: 1, Schedules: 1000,
		Slice: suite.Slice{Index: 1, Count: 2}}}
	for says, change := range map[string]func(*Results){
		"slice 1/2 is there more than once: a and b":    func(r *Results) { r.Slice.Index = 1 },
		"b is a whole search and no slice":              func(r *Results) { r.Slice = suite.Slice{} },
		"version v1 and v2 of lockproof":                func(r *Results) { r.Version = "v2" },
		"a and b are not slices of one search: they we": func(r *Results) { r.Space.Break = []Assumption{Memory} },
	} {
		two := one
		two.Slice.Index = 2
		_, err := Merge([]Results{one, two}, []string{"a", "b"})
		require.NoError(t, err)
		change(&two)
		_, err = Merge([]Results{one, two}, []string{"a", "b"})
		require.ErrorContains(t, err, says)
	}
	_, err := Merge(nil, nil)
	require.Error(t, err)
}

// A search that was interrupted again and again, and read back each time, comes to what
// one comes to that was not.
func TestSearch_ResumesAfterInterrupt(t *testing.T) {
	needs.Long(t, "it runs a search twice, whole and interrupted")
	p := pool(t)
	search := withoutMajority(t, p)
	whole, err := search.Run(t.Context())
	require.NoError(t, err)

	var tally Tally
	interrupts := 0
	for search.Remaining(tally) {
		p := pool(t) // as in a new process: children that were called off stay so
		ctx, interrupt := context.WithCancel(t.Context())
		var tries atomic.Int64
		search.Try = func(ctx context.Context, job suite.Job, seed uint64) suite.Result {
			if tries.Add(1) > 150 {
				interrupt()
			}
			return p.Try(ctx, job, seed)
		}
		tally, err = search.Resume(ctx, tally)
		require.NoError(t, err)
		if ctx.Err() != nil {
			interrupts++
		}
		interrupt()
		dir := t.TempDir()
		write(t, dir, Results{Version: "v1", Question: search.Question, Tally: tally})
		back, err := Read(dir)
		require.NoError(t, err)
		require.True(t, back.Same(Results{Version: "v1", Question: search.Question}))
		tally = back.Tally
	}
	require.GreaterOrEqual(t, interrupts, 2)
	require.Equal(t, written(t, Results{Tally: timeless(whole)}), written(t, Results{Tally: timeless(tally)}))
}
