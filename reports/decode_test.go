package reports

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"lockproof/harness/suite"
	"lockproof/internal/input/inputtest"
)

// endless is a text that begins so, and then repeats itself for ever.
func endless(head, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), &repeated{text: tail})
}

type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.text[r.at]
		r.at = (r.at + 1) % len(r.text)
	}
	return len(b), nil
}

func TestDecode_RefusesEndlessResults(t *testing.T) {
	const trials = `{"scenarios":[{"trials":[`
	for name, tt := range map[string]struct{ head, tail, want string }{
		"one text":     {`{"summary":"`, "x", "has more than 2097152 bytes"},
		"one trial":    {trials + `{"why":"`, "x", "has more than 2097152 bytes"},
		"empty trials": {trials + `{}`, ",{}", "the results take more than 200 MB of memory"},
		"empty violations": {trials + `{}`, `,{"results":[{"violations":[` + strings.Repeat("{},", 10_000) +
			`{}]}]}`, "the results take more than 200 MB"},
		"empty rows":          {`{"scenarios":[{}`, ",{}", "the results take more than 200 MB"},
		"fields of the run":   {`{"a":1`, `,"a":1`, "has more than 2097152 bytes"},
		"zeroes":              {"", "\x00", "invalid character"},
		"blanks":              {"", " ", "has more than 2097152 bytes"},
		"what is nested":      {`{"a":`, "[", "exceeded max depth"},
		"something after it":  {"{}", "x", "something follows the JSON object"},
		"a list of something": {`{"scenarios":{`, "x", "there is { in place of a list"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := decodeResults(endless(tt.head, tt.tail))
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, tt.want)
			require.Less(t, after.Sys-before.Sys, uint64(600<<20))
		})
	}
}

// What was written is read, and texts that come again are kept once.
func TestDecodeResults(t *testing.T) {
	var text strings.Builder
	trials := []suite.Result{{Scenario: "a", Lock: "redlock", Failure: "x"},
		{Scenario: "a", Lock: "redlock", Trial: 1, Failure: "y"}, {Scenario: "b", Skipped: "z"}}
	report := New(trials, Run{Version: "1", Planned: 3})
	require.NoError(t, report.WriteResults(&text))
	results, got, err := decodeResults(strings.NewReader(text.String()))
	require.NoError(t, err)
	require.Equal(t, trials, got)
	want := report.head()
	want.Scenarios = nil
	require.Equal(t, want, *results)
}

// A slice says how many there are: that many are looked for.
func TestDecode_RefusesImpossibleSlices(t *testing.T) {
	for _, part := range []string{`{"index":1,"count":2147483648}`, `{"index":1,"count":0}`, `{"index":0,"count":-1}`,
		`{"index":3,"count":2}`} {
		dir := t.TempDir()
		text := `{"version":1,"tool":{"name":"lockproof"},"slice":` + part + `}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(text), 0o600))
		_, err := Read(dir)
		require.ErrorContains(t, err, "results.json: its slice: ", part)
	}
}

// Any text is read or refused, and what is read can be merged or be refused:
// a slice's numbers may be anything.
func FuzzResults(f *testing.F) {
	const part = `{"version":1,"tool":{"name":"lockproof"},"options":{"trials":1},"scenarios":[{"trials":[{"scenario":"a"}]}],"slice":`
	for _, text := range []string{
		part + `{"index":1,"count":1,"suite":"x","rows":["a"]}}`,
		part + `{"index":1,"count":2147483648,"rows":["a"]}}`, part + `{"index":0,"count":-1}}`,
		`{"scenarios":[{"trials":[` + strings.Repeat("{},", 100_000) + `{}]}]}`, strings.Repeat(`{"a":`, 50_000), `{"scenarios":null}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		inputtest.Bounded(t, len(text), func() {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(text), 0o600))
			report, err := Read(dir)
			require.True(t, (report == nil) == (err != nil))
			if err == nil {
				Merge([]*Report{report}, "out")
			}
		})
	})
}
