package reports

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/checker"
	"lockproof/harness/history"
)

// extremes are what a number in a file may be turned into.
var extremes = []string{"-1", "0", "1", "1000", "1001", "2147483647", "2147483648", "-2147483648",
	"9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e300", "0.5"}

// numbersIn lists where the numbers of a JSON text are.
func numbersIn(t *testing.T, text []byte) (places [][2]int) {
	t.Helper()
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	for {
		token, err := tokens.Token()
		if err == io.EOF {
			return places
		}
		require.NoError(t, err)
		if n, ok := token.(json.Number); ok {
			end := int(tokens.InputOffset())
			places = append(places, [2]int{end - len(n), end})
		}
	}
}

// wholeSlice is a slice with a number in every field that has one.
func wholeSlice() *Report {
	lease := checker.Lease{Client: "c1", ID: 3, Key: "k1", Fence: 4, Asked: 5, From: 6, Until: 7, Ended: "release"}
	broken := trial("a", "", 0, history.Violated, history.Violated)
	broken.Attempts, broken.Simulated = 2, time.Second
	broken.Results[0].Measured = map[string]int64{"grants": 5, "violations": 2}
	broken.Results[0].Violations = []checker.Violation{{Key: "k1", From: 6, Until: 7, What: "both", Leases: []checker.Lease{lease, lease},
		Facts: []checker.Fact{{Time: 5, Event: 1, What: "it was off"}}}}
	s := slice(1, broken, trial("c", "", 0, history.Holds, history.Holds))
	s.Options.TTL, s.Options.Retries = 300*time.Millisecond, 5
	return s
}

// Whatever a number of a slice is turned into, the slice is refused, or the whole
// exits as it should; nothing panics, and no number makes memory grow.
func TestNoNumberOfASliceIsTrusted(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, wholeSlice().WriteResults(&text))
	others := three()[1:]
	for _, s := range others {
		s.Options.TTL, s.Options.Retries = 300*time.Millisecond, 5
	}
	dir := t.TempDir()
	refused, merged := 0, 0
	for _, place := range numbersIn(t, text.Bytes()) {
		for _, extreme := range extremes {
			flipped := text.String()[:place[0]] + extreme + text.String()[place[1]:]
			require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(flipped), 0o644))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			code, err := mergeWith(dir, others)
			runtime.ReadMemStats(&after)
			around := flipped[max(0, place[0]-30):min(len(flipped), place[0]+30)]
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20), around)
			if err != nil {
				refused++
				require.Contains(t, err.Error(), dir, around)
				continue
			}
			merged++
			if code != ExitAsExpected {
				require.Equal(t, ExitInconclusive, code, around)
				require.Contains(t, around, `"index"`, "then another slice is missing")
			}
		}
	}
	require.Greater(t, refused, 200)
	require.Positive(t, merged, "some numbers may be others: a seed, a time")
}

// mergeWith reads a slice, merges it with others, and tells of the whole.
func mergeWith(dir string, others []*Report) (code int, err error) {
	s, err := Read(dir)
	if err != nil {
		return 0, err
	}
	whole, err := Merge(append([]*Report{s}, others...), dir)
	if err != nil {
		return 0, err
	}
	if err := whole.Print(io.Discard, Screen{Width: 80}); err != nil {
		return 0, err
	}
	return whole.ExitCode(), whole.WriteSummary(io.Discard)
}

func TestNumbersOutOfRangeAreNamed(t *testing.T) {
	for says, change := range map[string]func(r *Report){
		"slice.count is 5, and its suite has 4 rows of 1 trial":  func(r *Report) { r.Slice.Count = 5 },
		"planned is 3, and it has 2 trials: only a run that is":  func(r *Report) { r.Planned = 3 },
		"planned is 1, and it has 2 trials":                      func(r *Report) { r.Planned, r.Interrupted = 1, true },
		"options.ttl is 3600000000000: it is a number from 0 to": func(r *Report) { r.Options.TTL = time.Hour },
		"a, trial -1: trial is -1":                               func(r *Report) { r.Rows[0].Trials[0].Trial = -1 },
		"a, trial 0, is there twice": func(r *Report) {
			r.Rows[0].Trials = append(r.Rows[0].Trials, r.Rows[0].Trials[0])
		},
		"a, trial 0: measured.grants is 9223372036854775807": func(r *Report) {
			r.Rows[0].Trials[0].Results[0].Measured["grants"] = 1<<63 - 1
		},
		"its trials have taken more than a hundred years together": manyLongTrials,
		"a, trial 0: violations.until is 5: it is a number from 6 to": func(r *Report) {
			r.Rows[0].Trials[0].Results[0].Violations[0].Until = 5
		},
	} {
		r := wholeSlice()
		change(r)
		r.Options.Out = t.TempDir()
		_, err := r.WriteFiles()
		require.NoError(t, err)
		_, err = Read(r.Options.Out)
		require.ErrorContains(t, err, filepath.Join(r.Options.Out, ResultsFile)+": ", says)
		require.ErrorContains(t, err, says)
	}
}

func manyLongTrials(r *Report) {
	for n := range 400 {
		t := trial("c", "", n+1, history.Holds, history.Holds)
		t.Simulated = 100 * 24 * time.Hour
		r.Rows[1].Trials = append(r.Rows[1].Trials, t)
	}
}

// One of two slices, marked as interrupted, is no whole, whatever it says of their
// number: it is refused, or makes a run that is inconclusive.
func TestOneInterruptedSliceIsNoWhole(t *testing.T) {
	s := slice(1, trial("a", "", 0, history.Holds, history.Holds))
	s.Interrupted, s.Planned = true, 2
	var text bytes.Buffer
	require.NoError(t, s.WriteResults(&text))
	for _, count := range []string{"0", "-1", "1", "2", "3", "2147483648"} {
		dir := t.TempDir()
		require.Contains(t, text.String(), `"count": 3`)
		changed := strings.Replace(text.String(), `"count": 3`, `"count": `+count, 1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(changed), 0o644))
		if code, err := mergeWith(dir, nil); err == nil {
			require.Equal(t, ExitInconclusive, code, count)
			require.Contains(t, []string{"1", "2", "3"}, count)
		}
	}
}
