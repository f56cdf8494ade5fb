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

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
)

func written(t testing.TB, r Results) string {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, r.Write(&text))
	return text.String()
}

func write(t testing.TB, dir string, r Results) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(written(t, r)), 0o644))
}

// aFind is results with one find.
func aFind(t testing.TB) Results {
	q := Question{Space: space(t, nil), Seed: 1, Schedules: 500}
	drawn := q.Space.Draw(7)
	return Results{Version: "v1", Question: q, Tally: Tally{Schedules: 9, Next: 9,
		Finds: []Find{{FindID: FindID{"mutual-exclusion", "Majority"},
			Number: 6, Seed: 7, Times: 1, Drawn: drawn, Shrunk: drawn}}}}
}

func TestResults_RoundTrip(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	require.ErrorIs(t, err, fs.ErrNotExist)
	r := aFind(t)
	write(t, dir, r)
	back, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, written(t, r), written(t, back))
	require.True(t, r.Same(back))
	for _, change := range []func(*Results){
		func(r *Results) { r.Version = "v2" }, func(r *Results) { r.Seed++ },
		func(r *Results) { r.Space.TTL++ }, func(r *Results) { r.Space.Break = []Assumption{Clocks} },
	} {
		other := back
		change(&other)
		require.False(t, r.Same(other))
	}
	back.Schedules, back.Enough = 1000, 3
	require.True(t, r.Same(back), "its bounds may be others")
}

// Whatever the file says is refused, or can be told and written as a scenario.
func FuzzResults(f *testing.F) {
	text := written(f, aFind(f))
	f.Add(text)
	for _, change := range []string{`"Targets": [`, `"nodes": `, `"ttl": `, `"next": `, `"seen": "`, `"steps": [`} {
		f.Add(strings.Replace(text, change, change+"-", 1))
		f.Add(strings.Replace(text, change, `"other": 0, `+change, 1))
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(text), 0o644))
		r, err := Read(dir)
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
	text := written(t, aFind(t))
	for _, change := range [][2]string{
		{`"drawn": {`, `"drawn": null, "other": {`}, {`"ttl": 1000000000`, `"ttl": 0`}, {`"next": 9`, `"next": -9`},
		{`"next": 9`, `"next": 3`}, {`"lock": "redlock"`, `"lock": ""`},
		{text, ""}, {text, "null"}, {text, "[]"},
	} {
		require.Contains(t, text, change[0])
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile),
			[]byte(strings.Replace(text, change[0], change[1], 1)), 0o644))
		_, err := Read(dir)
		require.ErrorContains(t, err, "explore.json is not what a search has left: ", change[1])
	}
}

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
