package explore

import (
	"context"
	"sync/atomic"
	"testing"

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
