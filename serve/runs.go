package serve

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/reports"
	"example.org/lockproof/site"
)

// The bounds of the search for runs.
const (
	maxDepth  = 5 // folders below the server's
	maxVisits = 5000
)

// runInfo describes one run in a folder.
type runInfo struct {
	Dir string // relative to the server's folder, with slashes
	// Report is the result of a finished run, Underway the progress of another. Problem says why neither was readable.
	Report   *reports.Report
	Underway *reports.RunInProgress
	Problem  string
	Page     string // the address of the page or the summary, "" if missing
}

// Started is the start of the run; zero if unknown.
func (r *runInfo) Started() time.Time {
	switch {
	case r.Report != nil:
		return r.Report.Started
	case r.Underway != nil:
		return r.Underway.Started
	}
	return time.Time{}
}

// Name is the folder's name for a reader.
func (r *runInfo) Name() string {
	if r.Dir == "." {
		return "this folder"
	}
	return r.Dir
}

// reading is a cached report with its file's size and time.
type reading struct {
	size     int64
	modified time.Time
	report   *reports.Report
}

// find lists the folders with runs. more is set if the search reached a bound.
func (s *Server) find() (dirs []string, more bool) {
	visits := 0
	fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		visits++
		switch {
		case visits > maxVisits:
			more = true
			return fs.SkipAll
		case name != "." && strings.HasPrefix(d.Name(), "."), d.Name() == "trials", d.Name() == "node_modules":
			return fs.SkipDir
		case s.isRun(name):
			dirs = append(dirs, name)
		}
		if strings.Count(name, "/") >= maxDepth {
			more = true
			return fs.SkipDir
		}
		return nil
	})
	return dirs, more
}

// isRun reports whether a folder contains a run. A link to a file does not count.
func (s *Server) isRun(dir string) bool {
	return s.regular(path.Join(dir, reports.ResultsFile)) || s.regular(path.Join(dir, reports.ProgressFile))
}

func (s *Server) regular(name string) bool {
	info, err := s.root.Lstat(filepath.FromSlash(name))
	return err == nil && info.Mode().IsRegular()
}

// runs reads every run, the latest first.
func (s *Server) runs() (all []*runInfo, more bool) {
	dirs, more := s.find()
	for _, dir := range dirs {
		all = append(all, s.read(dir))
	}
	slices.SortStableFunc(all, func(a, b *runInfo) int { return b.Started().Compare(a.Started()) })
	return all, more
}

// read reads the run of a folder. The progress of a current run takes precedence over an earlier run's results.
func (s *Server) read(dir string) *runInfo {
	run := &runInfo{Dir: dir}
	var err error
	if run.Underway, err = reports.ReadProgress(s.root, filepath.FromSlash(dir)); errors.Is(err, fs.ErrNotExist) {
		run, err = s.ended(dir)
	}
	if err != nil {
		return &runInfo{Dir: dir, Problem: err.Error()}
	}
	return run
}

// ended reads a finished run.
func (s *Server) ended(dir string) (*runInfo, error) {
	report, err := s.report(dir)
	if err != nil {
		return nil, err
	}
	run := &runInfo{Dir: dir, Report: report}
	for _, name := range []string{reports.PageFile, reports.SummaryFile} { // a merge writes them after its results
		if file := path.Join(dir, name); run.Page == "" && s.regular(file) {
			run.Page = (&url.URL{Path: "/files/" + file}).EscapedPath()
		}
	}
	return run, nil
}

// report reads a report unless its file is unchanged.
func (s *Server) report(dir string) (*reports.Report, error) {
	info, err := s.root.Lstat(filepath.FromSlash(path.Join(dir, reports.ResultsFile)))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, found := s.known[dir]; found && r.size == info.Size() && r.modified.Equal(info.ModTime()) {
		return r.report, nil
	}
	report, err := reports.Read(filepath.Join(s.dir, filepath.FromSlash(dir)))
	if err != nil {
		return nil, err
	}
	s.known[dir] = reading{info.Size(), info.ModTime(), report}
	return report, nil
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	all, more := s.runs()
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		dir = s.dir
	}
	s.show(w, http.StatusOK, "list", site.Frame{Title: "Runs", Here: "runs", Script: "serve.js", Page: struct {
		Dir  string
		Runs []*runInfo
		More bool
	}{dir, all, more}})
}
