package locktest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
	"example.org/lockproof/scenarios"
)

// ResultsVariable is the environment variable that names a folder, in place of "lockproof" beside the test, in which
// each Run leaves results.json, junit.xml, summary.md and report.html, as lockproof run does
// (docs/results.md), in a folder of its test's name: for programs that gather what
// several locks came to. Histories are kept below it, too.
const ResultsVariable = "LOCKPROOF_RESULTS"

// resultFiles is what one call of Run leaves.
type resultFiles struct {
	folder       string
	shown        string // the folder as messages name it
	started      time.Time
	trials       []suite.Result
	scenarios    []*scenarios.Scenario
	lockedFolder *reports.Folder
}

const (
	// histories has the trials' folders in that of the results.
	histories = "histories"
	// answersFile has the summary that ends the test.
	answersFile = "summary.txt"
)

// resultsRoot is the folder, beside the test, that results go into unless ResultsVariable names another.
const resultsRoot = "lockproof"

// openResults takes the folder for a call of Run, and removes what an earlier one has left in it. Where nothing can be
// written beside the test, it is one for temporary files.
func openResults(call childRole) (*resultFiles, error) {
	k := &resultFiles{started: time.Now()}
	root := os.Getenv(ResultsVariable)
	if root == "" {
		root = resultsRoot
		err := os.MkdirAll(root, 0o755)
		if err == nil { // what is in it is nobody's source
			err = os.WriteFile(filepath.Join(root, ".gitignore"), []byte("*\n"), 0o644)
		}
		if err != nil {
			if root, err = os.MkdirTemp("", "lockproof-"); err != nil {
				return nil, err
			}
		}
	}
	name := filepath.FromSlash(call.Test)
	if call.Call > 1 {
		name += fmt.Sprintf("~%d", call.Call)
	}
	k.shown = filepath.Join(root, name)
	var err error
	if k.folder, err = filepath.Abs(k.shown); err != nil {
		return nil, fmt.Errorf("%s: %w", ResultsVariable, err)
	}
	if k.lockedFolder, err = reports.OpenFolder(k.folder); err != nil {
		return nil, fmt.Errorf("%s: %w", ResultsVariable, err)
	}
	err = errors.Join(k.lockedFolder.Clear(answersFile), os.RemoveAll(filepath.Join(k.folder, histories)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ResultsVariable, errors.Join(err, k.lockedFolder.Close()))
	}
	return k, nil
}

// add adds a trial whose history, if any, is in a folder below.
func (k *resultFiles) add(job suite.Job, done suite.Result, out string) {
	if done.History != "" {
		below := strings.TrimPrefix(filepath.ToSlash(out), filepath.ToSlash(k.folder)+"/")
		done.History = path.Join(below, done.History)
	}
	done.Trial = 0
	for _, t := range k.trials {
		if t.Name() == done.Name() {
			done.Trial++
		}
	}
	k.trials = append(k.trials, done)
	if !slices.Contains(k.scenarios, job.Scenario) {
		k.scenarios = append(k.scenarios, job.Scenario)
	}
}

// report is what the trials so far came to.
func (k *resultFiles) report(o suite.Options) *reports.Report {
	o.Out, o.Worker = k.folder, nil
	return reports.New(k.trials, reports.Run{
		Go: runtime.Version(), Started: k.started, Elapsed: time.Since(k.started), Options: o, Planned: len(k.trials),
		Lock: reports.AboutLock(o.Lock),
	})
}

// write leaves the files, and gives the folder back.
func (k *resultFiles) write(report *reports.Report) error {
	page := func(w io.Writer) error { return html.Write(w, report, k.scenarios) }
	answers := func(w io.Writer) error {
		_, err := io.WriteString(w, report.AnswersText(screen))
		return err
	}
	_, err := report.WriteFiles(reports.File{Name: reports.PageFile, Write: page},
		reports.File{Name: answersFile, Write: answers})
	return errors.Join(err, k.lockedFolder.Close())
}
