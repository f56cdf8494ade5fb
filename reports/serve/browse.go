package serve

import (
	"cmp"
	"net/http"
	"path"
	"path/filepath"
	"slices"

	"lockproof/harness"
	"lockproof/harness/history"
	"lockproof/reports"
)

// list shows all runs.
func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	all, more := s.runs()
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		dir = s.dir
	}
	s.show(w, http.StatusOK, "list", frame{Title: "Runs", Here: "runs", Live: s.state(), Page: struct {
		Dir  string
		Runs []*aRun
		More bool
	}{dir, all, more}})
}

// link is a file of a run.
type link struct{ Name, Path, For string }

// run shows one run.
func (s *Server) run(w http.ResponseWriter, r *http.Request) {
	run := s.asked(r.URL.Query().Get("dir"))
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
	s.show(w, http.StatusOK, "run", frame{Title: run.Name(), Here: "runs", Live: s.state(), Page: struct {
		*aRun
		Self   *aRun
		Links  []link
		Report string
		Result *reports.Report
	}{run, run, links, page, run.Report}})
}

// Percent is how much of a run is done.
func (r *aRun) Percent() int {
	if r.Underway == nil || r.Underway.Planned == 0 {
		return 100
	}
	return min(100, 100*len(r.Underway.Done)/r.Underway.Planned)
}

// compared is one row of two runs.
type compared struct {
	Name string
	Both [2][]side // what each run says of each property; nil if it has no such row
	How  string
}

// How two rows compare, in the order in which they are shown.
const (
	differs = "differs"
	same    = "same"
	alone   = "in one run only"
)

// side is what a run says of one property.
type side struct{ Property, Got, Rate string }

// compare shows two runs side by side.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	var both [2]*aRun
	asked := r.URL.Query()["run"]
	if len(asked) != 2 {
		s.fail(w, http.StatusBadRequest, "Choose two runs to compare.")
		return
	}
	for i, dir := range asked {
		if both[i] = s.asked(dir); both[i] == nil || both[i].Report == nil {
			s.fail(w, http.StatusNotFound, "There is no such run, or it has not ended.")
			return
		}
	}
	rows := compareRows(both[0].Report, both[1].Report)
	counts := map[string]int{}
	for _, c := range rows {
		counts[c.How]++
	}
	s.show(w, http.StatusOK, "compare", frame{Title: "Two runs", Here: "runs", Live: s.state(), Page: struct {
		Both   [2]*aRun
		Rows   []*compared
		Differ int
		Common int
		Alone  int
	}{both, rows, counts[differs], counts[differs] + counts[same], counts[alone]}})
}

// compareRows puts rows of one scenario and variant side by side, those that
// differ first. Runs may differ in cluster, lock or rules.
func compareRows(a, b *reports.Report) []*compared {
	var all []*compared
	for i, report := range []*reports.Report{a, b} {
		for _, row := range report.Rows {
			name := row.Scenario
			if row.Variant != "" {
				name += " (" + row.Variant + ")"
			}
			at := slices.IndexFunc(all, func(c *compared) bool { return c.Name == name })
			if at < 0 {
				at, all = len(all), append(all, &compared{Name: name})
			}
			all[at].Both[i] = append(all[at].Both[i], sides(row)...)
		}
	}
	for _, c := range all {
		switch {
		case c.Both[0] == nil || c.Both[1] == nil:
			c.How = alone
		case slices.EqualFunc(c.Both[0], c.Both[1], func(a, b side) bool { return a.Property == b.Property && a.Got == b.Got }):
			c.How = same
		default:
			c.How = differs
		}
	}
	order := []string{differs, same, alone}
	slices.SortStableFunc(all, func(a, b *compared) int {
		return cmp.Compare(slices.Index(order, a.How), slices.Index(order, b.How))
	})
	return all
}

func sides(row *reports.Row) []side {
	if row.Standing == harness.Skipped || row.Standing == harness.HarnessError {
		return []side{{"", string(row.Standing), row.Why}}
	}
	var all []side
	for _, p := range row.Shown() {
		one := side{Property: p.Name, Got: p.Verdict()}
		if len(row.Trials) > 1 {
			one.Rate = "violated in " + p.Rate().String()
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b side) int {
		return cmp.Compare(slices.Index(history.Properties, a.Property), slices.Index(history.Properties, b.Property))
	})
	return all
}
