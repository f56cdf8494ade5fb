package answers

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"example.org/lockproof/harness/locktest"
)

var update = flag.Bool("update", false, "write the answer for each lock to testdata")

// took is the duration, which differs on each machine.
var took = regexp.MustCompile(`(situations?,)\s+[\d.]+ (?:µs|ms|s|min)(?: [\d.]+ s)?\n`)

// answer tests a lock with known bugs and compares the summary with the golden file.
func answer(t *testing.T, build locktest.New, bugs []string, options ...locktest.Option) {
	t.Helper()
	results := t.TempDir()
	t.Setenv(locktest.ResultsVariable, results)
	t.Cleanup(func() { // after Run's own, which writes the summary
		name := filepath.Join("testdata", t.Name()+".txt")
		got, err := os.ReadFile(filepath.Join(results, t.Name(), "summary.txt"))
		if err != nil {
			t.Fatal(err)
		}
		got = took.ReplaceAll(got, []byte("$1 TIME\n"))
		if *update {
			if err := os.WriteFile(name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("the summary is\n%s\nand %s has\n%s", got, name, want)
		}
	})
	for _, bug := range bugs {
		options = append(options, locktest.Expect(bug, locktest.Violated))
	}
	locktest.Run(t, build, options...)
}
