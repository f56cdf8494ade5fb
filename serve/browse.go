package serve

import (
	"net/http"
	"path"
	"path/filepath"

	"lockproof/reports"
	"lockproof/site"
)

// list shows all runs.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	all, more := s.runs()
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		dir = s.dir
	}
	s.show(w, http.StatusOK, "list", site.Frame{Title: "Runs", Here: "runs", Live: s.state(), Page: struct {
		Dir  string
		Runs []*runInfo
		More bool
	}{dir, all, more}})
}

// link is a file of a run.
type link struct{ Name, Path, For string }

// run shows one run.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	run := s.isRequested(r.URL.Query().Get("dir"))
	if run == nil {
		s.fail(w, http.StatusNotFound, "There is no such run.")
		return
	}
	var links []link
	for _, f := range []link{
		{reports.ResultsFile, "", "for programs"}, {reports.JUnitFile, "", "for CI systems"}, {reports.SummaryFile, "", "Markdown"},
	} {
		if f.Path = path.Join(run.Dir, f.Name); s.regular(f.Path) {
			links = append(links, f)
		}
	}
	page := path.Join(run.Dir, reports.PageFile)
	if !s.regular(page) {
		page = ""
	}
	s.show(w, http.StatusOK, "run", site.Frame{Title: run.Name(), Here: "runs", Live: s.state(), Page: struct {
		*runInfo
		Self   *runInfo
		Links  []link
		Report string
		Result *reports.Report
	}{run, run, links, page, run.Report}})
}

// Percent is how much of a run is done.
func (r *runInfo) Percent() int {
	if r.Underway == nil || r.Underway.Planned == 0 {
		return 100
	}
	return min(100, 100*len(r.Underway.Done)/r.Underway.Planned)
}
