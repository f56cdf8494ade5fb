package reports

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/input/inputtest"
)

func TestNumbersThatContradictEachOtherAreNamed(t *testing.T) {
	for says, change := range map[string]func(r *Report){
		"slice.count is 5, and its suite has 4 rows of 1 trial": func(r *Report) { r.Slice.Count = 5 },
		"planned is 3, and it has 2 trials: only a run that is": func(r *Report) { r.Planned = 3 },
		"planned is 1, and it has 2 trials":                     func(r *Report) { r.Planned, r.Interrupted = 1, true },
	} {
		r := slice(1, trial("a", "", 0, history.Holds, history.Holds), trial("c", "", 0, history.Holds, history.Holds))
		change(r)
		r.Options.Out = t.TempDir()
		_, err := r.WriteFiles()
		require.NoError(t, err)
		_, err = Read(r.Options.Out)
		require.ErrorContains(t, err, filepath.Join(r.Options.Out, ResultsFile)+": ", says)
		require.ErrorContains(t, err, says)
	}
}

// Any text is read or refused, and what is read can be merged or be refused:
// a slice's numbers may be anything.
func FuzzResults(f *testing.F) {
	const part = `{"version":2,"tool":{"name":"lockproof"},"planned":1,"options":{"trials":1},` +
		`"scenarios":[{"trials":[{"scenario":"a"}]}],"slice":`
	for _, text := range []string{
		part + `{"index":1,"count":1,"suite":"x","rows":["a"]}}`,
		part + `{"index":1,"count":2147483648,"rows":["a"]}}`, part + `{"index":0,"count":-1}}`,
		strings.Repeat(`{"a":`, 50_000), `{"scenarios":null}`,
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

// The document names every field that results.json can have.
func TestTheDocumentNamesEveryField(t *testing.T) {
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
