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

// ResultsVariable is the environment variable that replaces the results' folder, "lockproof" beside the test. There
// each Run writes results.json, junit.xml, summary.md and report.html as lockproof run does (docs/results.md), into a
// subfolder with its test's name: for programs that collect the results of several locks. Histories are below it,
// too.
const ResultsVariable = "LOCKPROOF_RESULTS"

// resultFiles are the results of one call of Run.
type resultFiles struct {
	folder       string
	shown        string // the folder's path in messages
	started      time.Time
	trials       []suite.Result
	scenarios    []*scenarios.Scenario
	lockedFolder *reports.Folder
}

const (
	histories   = "histories"   // the subfolder for histories
	answersFile = "summary.txt" // the summary at the test's end
)

// resultsRoot is the results' folder unless ResultsVariable names another.
const resultsRoot = "lockproof"

// openResults locks the folder for a call of Run and removes earlier results. If the test's folder is read-only, it
// uses a temporary folder.
func openResults(call childRole) (*resultFiles, error) {
	k := &resultFiles{started: time.Now()}
	root := os.Getenv(ResultsVariable)
	if root == "" {
		root = resultsRoot
		err := os.MkdirAll(root, 0o755)
		if err == nil { // results do not belong in the repository
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

// add adds a trial. Its history, if any, is in the folder out.
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

// report covers the trials so far.
func (k *resultFiles) report(o suite.Options) *reports.Report {
	o.Out, o.Worker = k.folder, nil
	return reports.New(k.trials, reports.Run{
		Go: runtime.Version(), Started: k.started, Elapsed: time.Since(k.started), Options: o, Planned: len(k.trials),
		Lock: reports.AboutLock(o.Lock),
	})
}

// write writes the files and unlocks the folder.
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
