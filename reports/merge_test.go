package reports

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/input/inputtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// slice is one of three slices of a suite with four rows.
func slice(index int, trials ...suite.Result) *Report {
	return New(trials, Run{
		Version: "v0.1.0", Go: "go1.26.8", Planned: len(trials),
		Started: noon.Add(time.Duration(index) * time.Minute), Elapsed: 30 * time.Second,
		Options: suite.Options{Cluster: "virtual", Trials: 1, Seed: 7, Parallel: index, Out: "out/" +
			string(rune('0'+index))},
		Slice: &Slice{Slice: suite.Slice{Index: index, Count: 3}, Suite: "5u17e",
			Rows: []string{"a", "a, without Majority", "b", "c"}},
	})
}

func three() []*Report {
	held := func(name, variant string) suite.Result { return trial(name, variant, 0, history.Holds, history.Holds) }
	return []*Report{slice(1, held("a", ""), held("c", "")), slice(2, held("b", "")),
		slice(3, held("a", "without Majority"))}
}

func TestMerge_AllSlices_WholeRunInOrder(t *testing.T) {
	parts := three()
	parts[0], parts[2] = parts[2], parts[0]
	merged, err := Merge(parts, "out")
	require.NoError(t, err)
	var names []string
	for _, row := range merged.Rows {
		names = append(names, row.Name())
	}
	require.Equal(t, []string{"a", "a (without Majority)", "b", "c"}, names)
	require.Equal(t, Run{
		Version: "v0.1.0", Go: "go1.26.8", Started: noon.Add(time.Minute), Elapsed: 2*time.Minute + 30*time.Second,
		Planned: 4,
		Options: suite.Options{Cluster: "virtual", Trials: 1, Seed: 7, Out: "out"},
	}, merged.Run)
	require.Equal(t, ExitAsExpected, merged.ExitCode())
}

func TestMerge_LockUnderTest_IsDescribed(t *testing.T) {
	parts := three()
	lock := LockUnderTest{Name: "redsync", Servers: 5, Belief: "for a TTL", Notices: []string{"it renews nothing"}}
	for _, part := range parts {
		part.Lock, part.Named = lock, true
	}
	merged, err := Merge(parts, "out")
	require.NoError(t, err)
	require.Equal(t, lock, merged.Lock)
	require.True(t, merged.Named, "the whole run would print the table, too")
}

func TestMerge_SlicesOnDifferentServers_NamesBoth(t *testing.T) {
	parts := three()
	for i, server := range []string{"redis 7.0.15", "redis 7.0.15", "valkey 8.1.1"} {
		parts[i].Rows[0].Trials[0].Server = server
	}
	merged, err := Merge(parts, "out")
	require.NoError(t, err)
	require.Contains(t, merged.Setting(), "virtual cluster of redis 7.0.15 and valkey 8.1.1")
}

func TestMerge_InterruptedSlice_InterruptedRun(t *testing.T) {
	parts := three()
	parts[1] = slice(2)
	parts[1].Planned, parts[1].Interrupted = 1, true
	merged, err := Merge(parts, "out")
	require.NoError(t, err)
	require.Equal(t, ExitInconclusive, merged.ExitCode())
	require.Contains(t, merged.Summary(), "Of 3 slices, cut short: 2: 1 of 4 trials were not run.")
}

// A missing slice does not make a run pass.
func TestMerge_MissingSlices_AreNamed(t *testing.T) {
	parts := three()
	for says, there := range map[string][]*Report{
		"Of 3 slices, missing: 2: 1 of 4 trials were not run.":       {parts[0], parts[2]},
		"Of 3 slices, missing: 2 and 3: 2 of 4 trials were not run.": parts[:1],
	} {
		merged, err := Merge(there, t.TempDir())
		require.NoError(t, err)
		require.Equal(t, ExitInconclusive, merged.ExitCode())
		require.Contains(t, merged.Summary(), says)
		back := withHistory(t, merged, "")
		require.Equal(t, merged.Incomplete, back.Incomplete)
		require.Equal(t, merged.Summary(), back.Summary())
	}
	parts[1] = slice(2, trial("b", "", 0, history.Holds, history.Violated))
	merged, err := Merge(parts[1:], "out")
	require.NoError(t, err)
	require.Equal(t, ExitDiffers, merged.ExitCode(), "what differs does so whatever is missing")
}

func TestMerge_SlicesOfDifferentRuns_AreRefused(t *testing.T) {
	apart := "out/1 and out/2 are not slices of one run: "
	second := func(name string, number int) func([]*Report) []*Report {
		return func(s []*Report) []*Report {
			s[1] = slice(2, trial(name, "", number, history.Holds, history.Holds))
			return s
		}
	}
	for _, c := range []struct {
		says   string
		change func([]*Report) []*Report
	}{
		{"there is nothing to merge", func([]*Report) []*Report { return nil }},
		{"out/2 is a whole run and no slice", func(s []*Report) []*Report { s[1].Slice = nil; return s }},
		{apart + "version v0.1.0 and v0.2.0 of lockproof", func(s []*Report) []*Report { s[1].Version = "v0.2.0"; return s }},
		{apart + "built by go1.26.8 and go1.27", func(s []*Report) []*Report { s[1].Go = "go1.27"; return s }},
		{apart + `cluster "virtual" and "local"`, func(s []*Report) []*Report { s[1].Options.Cluster = "local"; return s }},
		{apart + "seed 7 and 8", func(s []*Report) []*Report { s[1].Options.Seed = 8; return s }},
		{apart + `server "" and "valkey-8.1"`, func(s []*Report) []*Report { s[1].Options.Server = "valkey-8.1"; return s }},
		{apart + "without [] and [Majority]", func(
			s []*Report) []*Report {
			s[1].Options.Without = []string{"Majority"}
			return s
		}},
		{apart + "slice 1/3 and slice 2/4", func(s []*Report) []*Report { s[1].Slice.Count = 4; return s }},
		{apart + "other scenarios, or the same names with another content",
			func(s []*Report) []*Report { s[1].Slice.Suite = "e15e"; return s }},
		{apart + "c was skipped on one machine only",
			func(s []*Report) []*Report { s[1].Slice.Skipped = []string{"c"}; return s }},
		{"slice 1/3 is there more than once: out/1 and out/1", func(s []*Report) []*Report { return append(s, s[0]) }},
		{"all 3 slices are there and whole, and they have 3 of 4 trials",
			func(s []*Report) []*Report { s[1] = slice(2); return s }},
		// These would take the place of a missing trial.
		{"out/2 has d, trial 0, which is not in its suite", second("d", 0)},
		{"out/2 has b, trial 1, which is not in its suite", second("b", 1)},
		{"the slices overlap: a, trial 0 is there more than once", second("a", 0)},
	} {
		_, err := Merge(c.change(three()), "out")
		require.ErrorContains(t, err, c.says)
	}
}

// withHistory writes the results of a run, and a history of one trial, to a folder.
func withHistory(t *testing.T, r *Report, history string) *Report {
	t.Helper()
	r.Options.Out = t.TempDir()
	if history != "" {
		r.Rows[0].Trials[0].History = history
		path := filepath.Join(r.Options.Out, history)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o644))
	}
	_, err := r.WriteFiles()
	require.NoError(t, err)
	back, err := Read(r.Options.Out)
	require.NoError(t, err)
	return back
}

func written(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.WriteResults(&b))
	return b.String()
}

func TestRead_WrittenReport_IsEqual(t *testing.T) {
	for name, report := range map[string]*Report{"every standing": fixture(), "a slice": three()[0]} {
		t.Run(name, func(t *testing.T) {
			back := withHistory(t, report, "")
			require.Equal(t, written(t, report), written(t, back))
			require.Equal(t, report.Options, back.Options)
		})
	}
}

func TestRead_OtherFile_IsRefused(t *testing.T) {
	trialWith := func(path string) string {
		return `{"tool":{"name":"lockproof"},"version":2,"planned":1,"scenarios":[{"trials":[{"scenario":"a","history":"` +
			path + `"}]}]}`
	}
	sliceOf := func(count string) string {
		return `{"tool":{"name":"lockproof"},"version":2,"planned":1,"interrupted":true,"options":{"trials":1},` +
			`"slice":{"index":1,"count":` + count + `,"rows":["a"]},"scenarios":[]}`
	}
	planned := func(planned string) string {
		return `{"tool":{"name":"lockproof"},"version":2,"planned":` + planned +
			`,"scenarios":[{"trials":[{"scenario":"a"},{"scenario":"a"}]}]}`
	}
	for text, says := range map[string]string{
		sliceOf("0"):          "its slice: 1/0: there are from 1 to 10000 slices",
		sliceOf("-1"):         `its slice: invalid slice "1/-1"`,
		sliceOf("2147483648"): "its slice: invalid slice",
		sliceOf("2"):          "slice.count is 2, and its suite has 1 row of 1 trial each",

		planned(`3`):                    "planned is 3, and it has 2 trials: only a run that is",
		planned(`1,"interrupted":true`): "planned is 1, and it has 2 trials",
		planned(`2`):                    "a, trial 0 is there more than once",
		planned(`2`) + "{}":             "is not the results of one run: something follows them",

		`{"scenarios":[null]}`: "is not the results of a run: a row of scenarios is null",

		"":                  "is not the results of a run",
		"[]":                "is not the results of a run",
		"{}":                "it is not from lockproof",
		`{"version":1}`:     "it is not from lockproof",
		`{"version":"one"}`: "is not the results of a run",
		`{"tool":{"name":"lockproof"},"version":3}`: "it has version 3 of the format, and this program reads version 2",
		`{"tool":{"name":"lockproof"},"version":0}`: "it has version 0 of the format, and this program reads version 2",
		trialWith("../x"):   `the history "../x" is not in the folder`,
		trialWith("/etc/x"): `the history "/etc/x" is not in the folder`,
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, ResultsFile), []byte(text), 0o644))
		_, err := Read(dir)
		require.ErrorContains(t, err, says, text)
		require.ErrorContains(t, err, filepath.Join(dir, ResultsFile), text)
	}
	_, err := Read(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no such file or directory: give the output folder of a run")
}

func TestCopyHistories_CopiesOnlyFiles(t *testing.T) {
	const name = "trials/a/000/history.jsonl"
	for says, replace := range map[string]func(path string) error{
		"":                        func(path string) error { return os.WriteFile(path, []byte("{}\n"), 0o644) },
		"no such file":            func(string) error { return nil },
		"is a link and no file":   func(path string) error { return os.Symlink("/etc/hostname", path) },
		"is a folder and no file": func(path string) error { return os.Mkdir(path, 0o755) },
		"escapes": func(path string) error {
			return errors.Join(os.Remove(filepath.Dir(path)), os.Symlink("/etc", filepath.Dir(path)))
		},
	} {
		part, out := withHistory(t, three()[0], name), t.TempDir()
		path := filepath.Join(part.Options.Out, name)
		require.NoError(t, os.Remove(path))
		require.NoError(t, replace(path))
		if says == "" {
			require.NoError(t, errors.Join(part.CheckHistories(), part.CopyHistories(out)))
			require.FileExists(t, filepath.Join(out, name))
			continue
		}
		for _, err := range []error{part.CheckHistories(), part.CopyHistories(out)} {
			require.ErrorContains(t, err, says)
			require.ErrorContains(t, err, path+", the history of a, trial 0: ")
		}
		require.NoFileExists(t, filepath.Join(out, name))
	}
}

// Any text is accepted or refused; accepted results can be merged or are refused, whatever a slice's numbers.
func FuzzResults(f *testing.F) {
	const part = `{"version":2,"tool":{"name":"lockproof"},"planned":1,"options":{"trials":1},` +
		`"scenarios":[{"trials":[{"scenario":"a"}]}],"slice":`
	for _, text := range []string{
		part + `{"index":1,"count":1,"suite":"x","rows":["a"]}}`,
		part + `{"index":1,"count":2147483648,"rows":["a"]}}`, part + `{"index":0,"count":-1}}`,
		strings.Repeat(`{"a":`, 50_000), `{"scenarios":null}`, `{"scenarios":[null]}`,
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

// The document names every field of results.json.
func TestResultsDocument_NamesEveryField(t *testing.T) {
	data, err := os.ReadFile("../docs/results.md")
	require.NoError(t, err)
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(r reflect.Type) {
		switch r.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(r.Elem())
		case reflect.Struct:
			if seen[r] || r == reflect.TypeFor[time.Time]() {
				return
			}
			seen[r] = true
			for i := range r.NumField() {
				field := r.Field(i)
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				if name == "-" {
					continue
				}
				if name != "" {
					require.Contains(t, string(data), "`"+name+"`", "field %s of %s", field.Name, r)
				}
				visit(field.Type)
			}
		}
	}
	visit(reflect.TypeFor[Results]())
	require.Greater(t, len(seen), 8)
}
