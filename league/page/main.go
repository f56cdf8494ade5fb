// Command page writes docs/locks.md and reports/published/league from the results of the league's tests: see
// `make league`.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"example.com/league"
)

func main() {
	results := flag.String("results", "../out/league", "the folder that LOCKPROOF_RESULTS named")
	root := flag.String("root", "..", "the repository")
	flag.Parse()
	if err := write(*results, *root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// evidenceFile is in the league's folder, where the command runs.
const evidenceFile = "evidence.json"

// published is the folder of the page and the stories, from the repository's root.
const published = "reports/published/league"

func write(results, root string) error {
	known, err := read[evidence](evidenceFile)
	if err != nil {
		return err
	}
	before, err := read[archive](keptFile)
	if err != nil {
		return err
	}
	t, err := gather(league.All(), results, "go.mod", known)
	if err != nil {
		return err
	}
	if err := save(evidenceFile, known); err != nil {
		return err
	}
	for _, e := range t.entries {
		before.recall(e)
	}
	folder := filepath.Join(root, filepath.FromSlash(published))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := t.stories(folder); err != nil {
		return err
	}
	for _, e := range t.entries {
		before.keep(e)
	}
	if err := save(keptFile, before); err != nil {
		return err
	}
	if err := t.html(filepath.Join(folder, "index.html")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "locks.md"), t.markdown(), 0o644)
}
