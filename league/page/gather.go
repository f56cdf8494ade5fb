package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/league"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/terminal"
)

// table is the whole of the league.
type table struct {
	entries []*entry
}

// entry is one lock with its results.
type entry struct {
	league.Lock
	Version string
	ran     bool // this time or, by its crosses, before
	rows    map[string]ranRow
	before  map[string]cell // without rows of this run: the cells of the last, by their columns' titles
	Crosses []*cross
	Cost    *league.Cost // nil: not measured
}

// ranRow is a scenario's result, and the folder of its histories.
type ranRow struct {
	reports.Row
	folder string
}

// cross is a finding that runs have confirmed.
type cross struct {
	league.Finding
	// Shown are its scenarios that differed.
	Shown []string
	// Broke are the properties that were violated, in words.
	Broke string
	// seen counts the decided trials on real servers; both 0 without such trials.
	seen
	// Story is a file beside the page, or "".
	Story string
}

// counts reports whether the cross is the lock's own.
func (c *cross) counts() bool { return c.Depends == "" }

// versions reads the versions in a go.mod.
func versions(goMod string) (map[string]string, error) {
	text, err := os.ReadFile(goMod)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\s*|replace .* => )(\S+) (v\S+)`).FindAllStringSubmatch(string(text),
		-1) {
		found[m[1]] = m[2]
	}
	return found, nil
}

// installed is the version of an installed Debian package, or "".
func installed(name string) string {
	said, err := exec.Command("dpkg-query", "--show", "--showformat", "${source:Upstream-Version}", name).Output()
	if err != nil {
		return ""
	}
	return string(said)
}

// costs reads the results of the command costs, nil without a run.
func costs(path string) (all map[string]league.Cost, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func gather(locks []league.Lock, results, goMod string, known evidence) (*table, error) {
	pinned, err := versions(goMod)
	if err != nil {
		return nil, err
	}
	measured, err := costs(filepath.Join(results, "costs.json"))
	if err != nil {
		return nil, err
	}
	t := &table{}
	for _, lock := range locks {
		e := &entry{Lock: lock, Version: pinned[lock.Module], rows: map[string]ranRow{}}
		if lock.Package != "" {
			e.Version = installed(lock.Package)
		} else if lock.Checkout != "" {
			e.Version = lock.Commit()
		}
		if cost, found := measured[lock.Test]; found {
			e.Cost = &cost
		}
		t.entries = append(t.entries, e)
		if lock.Unjudged != "" {
			continue
		}
		if err := e.read(results, known); err != nil {
			return nil, fmt.Errorf("%s: %w", lock.Test, err)
		}
	}
	return t, nil
}

// read reads the tests' results for one lock.
func (e *entry) read(results string, known evidence) error {
	confirmed := filepath.Join(results, "confirmed", "TestConfirmed", e.Test)
	real, err := load(confirmed)
	if err != nil {
		return err
	}
	catalogue := filepath.Join(results, "catalogue", "TestLeague", e.Test)
	rows, err := load(catalogue)
	if err != nil {
		return err
	}
	e.add(real, confirmed)
	e.add(rows, catalogue)
	for _, f := range e.Findings {
		if c := e.cross(f, real, known); c != nil {
			e.Crosses = append(e.Crosses, c)
		}
	}
	e.ran = e.ran || len(e.Crosses) > 0
	return nil
}

// add adds rows; later ones replace those of the same scenario.
func (e *entry) add(rows []*reports.Row, folder string) {
	for _, row := range rows {
		e.rows[row.Scenario] = ranRow{*row, folder}
		e.ran = true
	}
}

// load reads the rows of a run, none without a run.
func load(folder string) ([]*reports.Row, error) {
	text, err := os.ReadFile(filepath.Join(folder, reports.ResultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r reports.Results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	return r.Scenarios, nil
}

// differs reports whether a row counts against the lock: a violation, or a lock that did not return.
func differs(s suite.Standing) bool { return s == suite.Differs || s == suite.HarnessError }

// cross returns a finding with its evidence, nil without any.
func (e *entry) cross(f league.Finding, real []*reports.Row, known evidence) *cross {
	c := &cross{Finding: f}
	var broke []string
	for _, name := range f.Scenarios {
		row, ran := e.rows[name]
		if !ran || !differs(row.Standing) || row.Standing == suite.HarnessError && !f.Hangs {
			continue
		}
		c.Shown = append(c.Shown, name)
		for _, p := range row.Properties {
			if p.Violated > 0 && !slices.Contains(broke, p.Name) {
				broke = append(broke, p.Name)
			}
		}
	}
	for _, row := range real {
		if slices.ContainsFunc(f.Confirm, func(s string) bool { return scenario(s) == row.Scenario }) {
			yes := row.Counts[suite.Differs]
			if f.Hangs {
				yes += row.Counts[suite.HarnessError]
			}
			c.Real, c.Of = c.Real+yes, c.Of+yes+row.Counts[suite.AsExpected]
		}
	}
	c.Broke = strings.Join(broke, ", ")
	c.seen = known.best(e.Test, f, c.Real, c.Of)
	if e.RealTime != "" && c.Of == 0 { // the catalogue itself was on real servers
		c.Real, c.Of = len(c.Shown), len(c.Shown)
	}
	if len(c.Shown) == 0 && c.Real == 0 {
		return nil
	}
	if c.Real > 0 && !slices.Contains(c.Shown, f.Scenarios[0]) {
		c.Shown = append(c.Shown, f.Scenarios[0])
	}
	return c
}

// scenario is the name of a scenario from its name or file.
func scenario(file string) string {
	return strings.TrimSuffix(filepath.Base(filepath.FromSlash(file)), ".yaml")
}

func storyOf(e *entry, scenario string) string { return e.Test + "-" + scenario + ".txt" }

// stories writes the first history of each cross, as text, and keeps it. Without a history of this run an earlier story
// stays; a story without a cross is removed.
func (t *table) stories(folder string) error {
	existing, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		return err
	}
	for _, e := range t.entries {
		for _, c := range e.Crosses {
			for _, name := range append(slices.Clone(c.Shown), c.Scenarios...) {
				if slices.Contains(existing, filepath.Join(folder, storyOf(e, name))) {
					c.Story = storyOf(e, name)
					break
				}
			}
			for _, name := range c.Shown {
				row := e.rows[name]
				i := slices.IndexFunc(row.Trials,
					func(t reports.Trial) bool { return t.History != "" && differs(t.Standing) })
				if i < 0 {
					continue
				}
				file := filepath.Join(row.folder, filepath.FromSlash(row.Trials[i].History))
				text, err := story(file)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", e.Test, name, err)
				}
				c.Story = storyOf(e, name)
				events, err := os.ReadFile(file)
				err = errors.Join(err, os.WriteFile(filepath.Join(folder, c.Story), []byte(text), 0o644),
					os.WriteFile(filepath.Join(folder, historyOf(c.Story)), events, 0o644))
				if err != nil {
					return err
				}
				break
			}
		}
	}
	for _, path := range existing {
		if !t.hasStory(filepath.Base(path)) {
			_ = os.Remove(path)
			_ = os.Remove(historyOf(path))
		}
	}
	return nil
}

func historyOf(story string) string { return strings.TrimSuffix(story, ".txt") + ".jsonl" }

// hasStory reports whether a file is the story of a cross.
func (t *table) hasStory(file string) bool {
	return slices.ContainsFunc(t.entries, func(e *entry) bool {
		return slices.ContainsFunc(e.Crosses, func(c *cross) bool { return c.Story == file })
	})
}

func story(path string) (string, error) {
	h, err := reports.OpenHistory(path)
	if err != nil {
		return "", err
	}
	verdict, err := h.Verdict()
	if err != nil {
		return "", err
	}
	return reports.VerdictText(h, verdict, terminal.Screen{Width: 110}), nil
}
