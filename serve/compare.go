package serve

import (
	"cmp"
	"net/http"
	"slices"

	"lockproof/reports"
	"lockproof/site"
)

// compare shows runs side by side, as lockproof compare does, the rows that
// are to be looked at first.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	var runs []*runInfo
	var all []*reports.Report
	for _, dir := range r.URL.Query()["run"] {
		run := s.isRequested(dir)
		if run == nil || run.Report == nil {
			s.fail(w, http.StatusNotFound, "There is no such run, or it has not ended.")
			return
		}
		if !slices.Contains(all, run.Report) {
			runs, all = append(runs, run), append(all, run.Report)
		}
	}
	if len(runs) < 2 {
		s.fail(w, http.StatusBadRequest, "Choose two or more runs to compare.")
		return
	}
	comparison := reports.Compare(all)
	order := []reports.Agreement{reports.Disagree, reports.Incomplete, reports.Agree}
	slices.SortStableFunc(comparison.Rows, func(a, b reports.ComparedRow) int {
		return cmp.Compare(slices.Index(order, a.Agreement), slices.Index(order, b.Agreement))
	})
	s.show(w, http.StatusOK, "compare", site.Frame{Title: "Side by side", Here: "runs", Live: s.state(), Page: struct {
		reports.Comparison
		Of []*runInfo
	}{comparison, runs}})
}
