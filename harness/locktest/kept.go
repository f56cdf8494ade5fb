package locktest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"lockproof/harness/suite"
	"lockproof/reports"
	"lockproof/reports/html"
	"lockproof/scenarios"
)

// ResultsVariable is the environment variable that names a folder in which each Run
// leaves results.json, junit.xml, summary.md and report.html, as lockproof run does
// (docs/results.md), in a folder of its test's name: for programs that gather what
// several locks came to. Histories are kept below it, too.
const ResultsVariable = "LOCKPROOF_RESULTS"

// kept is what one call of Run leaves for others; its folder is "" if that is not
// wanted, and nothing is left.
type kept struct {
	folder  string
	begun   time.Time
	trials  []suite.Result
	told    []*scenarios.Scenario
	tally   string // of what was explored
	claimed *reports.Folder
}

const (
	// histories has the trials' folders in that of the results.
	histories = "histories"
	// exploreFile says of how many schedules Explore has drawn, if it has, and what came of them.
	exploreFile = "explore.txt"
)

// keep takes the folder for a call of Run, and removes what an earlier one has left in it.
func keep(call part) (*kept, error) {
	k := &kept{begun: time.Now()}
	root := os.Getenv(ResultsVariable)
	if root == "" {
		return k, nil
	}
	name := filepath.FromSlash(call.Test)
	if call.Call > 1 {
		name += fmt.Sprintf("~%d", call.Call)
	}
	var err error
	if k.folder, err = filepath.Abs(filepath.Join(root, name)); err != nil {
		return nil, fmt.Errorf("%s: %w", ResultsVariable, err)
	}
	if k.claimed, err = reports.OpenFolder(k.folder); err != nil {
		return nil, fmt.Errorf("%s: %w", ResultsVariable, err)
	}
	err = errors.Join(k.claimed.Clear(exploreFile), os.RemoveAll(filepath.Join(k.folder, histories)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ResultsVariable, errors.Join(err, k.claimed.Close()))
	}
	return k, nil
}

// note adds a trial whose history, if any, is in a folder.
func (k *kept) note(job suite.Job, done suite.Result, out string) {
	if k.folder == "" {
		return
	}
	if done.History != "" {
		below, err := filepath.Rel(k.folder, filepath.Join(out, filepath.FromSlash(done.History)))
		if err != nil || !filepath.IsLocal(below) {
			below = ""
		}
		done.History = filepath.ToSlash(below)
	}
	done.Trial = 0
	for _, t := range k.trials {
		if t.Name() == done.Name() {
			done.Trial = max(done.Trial, t.Trial+1)
		}
	}
	k.trials = append(k.trials, done)
	if !slices.Contains(k.told, job.Scenario) {
		k.told = append(k.told, job.Scenario)
	}
}

// write leaves the files, and gives the folder back.
func (k *kept) write(o suite.Options) error {
	if k.folder == "" {
		return nil
	}
	o.Out, o.Worker = k.folder, nil
	report := reports.New(k.trials, reports.Run{
		Go: runtime.Version(), Started: k.begun, Elapsed: time.Since(k.begun), Options: o, Planned: len(k.trials),
	})
	files := []reports.File{{Name: reports.PageFile, Write: func(w io.Writer) error { return html.Write(w, report, k.told) }}}
	if k.tally != "" {
		files = append(files, reports.File{Name: exploreFile, Write: func(w io.Writer) error {
			_, err := fmt.Fprintln(w, k.tally)
			return err
		}})
	}
	_, err := report.WriteFiles(files...)
	return errors.Join(err, k.claimed.Close())
}
