package explore

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
)

func encode(t testing.TB, r Results) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	return text.String()
}

// readText reads a folder's results from their text.
func readText(t testing.TB, text string) (Results, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(text), 0o644))
	return Read(dir)
}

// readBack are results, written and read.
func readBack(t testing.TB, r Results) Results {
	t.Helper()
	back, err := readText(t, encode(t, r))
	require.NoError(t, err)
	return back
}

func resultsWithFind(t testing.TB) Results {
	q := Question{Space: space(t, nil), Seed: 1, Schedules: 500}
	drawn := q.Space.Draw(7)
	return Results{Version: "v1", Question: q, Tally: Tally{Schedules: 9, Next: 9,
		Finds: []Find{{FindID: FindID{"mutual-exclusion", "Majority"},
			Number: 6, Seed: 7, Times: 1, Drawn: drawn, Shrunk: drawn}}}}
}

func TestResults_RoundTrip(t *testing.T) {
	_, err := Read(t.TempDir())
	require.ErrorIs(t, err, fs.ErrNotExist)
	r := resultsWithFind(t)
	back := readBack(t, r)
	require.Equal(t, encode(t, r), encode(t, back))
	require.True(t, r.Same(back))
	for _, change := range []func(*Results){
		func(r *Results) { r.Version = "v2" }, func(r *Results) { r.Seed++ },
		func(r *Results) { r.Program = "changed" },
		func(r *Results) { r.Space.TTL++ }, func(r *Results) { r.Space.Break = []Assumption{Clocks} },
	} {
		other := back
		change(&other)
		require.False(t, r.Same(other))
	}
	back.Schedules, back.Enough = 1000, 3
	require.True(t, r.Same(back), "its bounds may be others")
}

// Read rejects a file, or its finds can be summarized and written as scenarios.
func FuzzResults(f *testing.F) {
	text := encode(f, resultsWithFind(f))
	f.Add(text)
	for _, change := range []string{`"Targets": [`, `"nodes": `, `"ttl": `, `"next": `, `"seen": "`, `"steps": [`} {
		f.Add(strings.Replace(text, change, change+"-", 1))
		f.Add(strings.Replace(text, change, `"other": 0, `+change, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := readText(t, text)
		if err != nil {
			return
		}
		search := Search{Question: r.Question}
		search.Remaining(r.Tally)
		search.Summary(r.Tally)
		for _, find := range r.Tally.Finds {
			search.Text(find)
		}
	})
}

func TestResults_RejectsInvalidFile(t *testing.T) {
	text := encode(t, resultsWithFind(t))
	for _, change := range [][2]string{
		{`"drawn": {`, `"drawn": null, "other": {`}, {`"ttl": 1000000000`, `"ttl": 0`}, {`"next": 9`, `"next": -9`},
		{`"next": 9`, `"next": 3`}, {`"lock": "redlock"`, `"lock": ""`},
		{text, ""}, {text, "null"}, {text, "[]"},
	} {
		require.Contains(t, text, change[0])
		_, err := readText(t, strings.Replace(text, change[0], change[1], 1))
		require.ErrorContains(t, err, "explore.json does not have a search's results: ", change[1])
	}
}

func withoutTimes(t Tally) Tally {
	t.Elapsed = 0
	for i := range t.Finds {
		t.Finds[i].At = 0
	}
	return t
}

// mutualExclusion is a trial with one verdict, on mutual exclusion.
func mutualExclusion(verdict string) suite.Result {
	return suite.Result{Results: []checker.Result{{Property: checker.MutualExclusion, Verdict: verdict}}}
}

// An interrupt may come while experiments identify a find: that is found, and the schedule is run again.
func TestSearch_InterruptedWhileItIdentifiesAFind_ResumesWithThatSchedule(t *testing.T) {
	try := func(_ context.Context, _ suite.Job, seed uint64) suite.Result {
		if seed%3 == 0 {
			return mutualExclusion(history.Violated)
		}
		return mutualExclusion(history.Holds)
	}
	kinds := func(context.Context, suite.Job, uint64, string) ([]string, error) { return []string{"cut"}, nil }
	search := Search{Question: Question{Space: space(t, nil), Seed: 1, Schedules: 20}, Parallel: 1, Try: try, Kinds: kinds}
	whole, err := search.Run(t.Context())
	require.NoError(t, err)

	ctx, interrupt := context.WithCancel(t.Context())
	search.Kinds = func(context.Context, suite.Job, uint64, string) ([]string, error) {
		interrupt()
		return []string{"cut", "kill"}, nil // what cancelled trials seem to show
	}
	tally, err := search.Resume(ctx, Tally{})
	require.NoError(t, err)
	require.Equal(t, 2, tally.Next)
	require.Equal(t, checker.MutualExclusion, tally.Finds[0].FindID.String())
	back := readBack(t, Results{Version: "v1", Question: search.Question, Tally: tally})
	search.Kinds = kinds
	tally, err = search.Resume(t.Context(), back.Tally)
	require.NoError(t, err)
	require.Equal(t, encode(t, Results{Tally: withoutTimes(whole)}), encode(t, Results{Tally: withoutTimes(tally)}))
}

// A search that is interrupted repeatedly, each time written and read back, has the results of an uninterrupted one.
func TestSearch_ResumesAfterInterrupt(t *testing.T) {
	needs.Long(t, "it runs a search twice, whole and interrupted")
	p := pool(t)
	search := Search{Question: Question{Space: space(t, func(s *Space) { s.Without = []string{"Majority"} }), Seed: 3,
		Schedules: 3*batch + 50}, Try: p.Try, Parallel: p.Size()} // with finds, and three and a half batches
	whole, err := search.Run(t.Context())
	require.NoError(t, err)

	var tally Tally
	interrupts := 0
	for search.Remaining(tally) {
		p := pool(t) // as in a new process: cancelled children stay cancelled
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
		back := readBack(t, Results{Version: "v1", Question: search.Question, Tally: tally})
		require.True(t, back.Same(Results{Version: "v1", Question: search.Question}))
		tally = back.Tally
	}
	require.GreaterOrEqual(t, interrupts, 2)
	require.Equal(t, encode(t, Results{Tally: withoutTimes(whole)}), encode(t, Results{Tally: withoutTimes(tally)}))
}
