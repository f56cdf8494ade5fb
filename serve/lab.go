package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"lockproof/checker"
	"lockproof/harness/history"
	"lockproof/lab"
	"lockproof/redlock"
	"lockproof/reports"
	"lockproof/reports/html"
	"lockproof/scenarios"
)

// longestForm bounds what a form may send.
const longestForm = 16 << 10

// labList shows what can be tried.
func (s *Server) labList(w http.ResponseWriter, _ *http.Request) {
	all, err := lab.Catalogue()
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	s.show(w, http.StatusOK, "lab-list", frame{Title: "The lab", Here: "lab", Page: all})
}

// labView is the page of one scenario in the lab.
type labView struct {
	*lab.Experiment
	Setting   []string // who is there
	Steps     []string
	Faults    []string
	RuleOff   []redlock.RuleInfo
	Predicted map[string]string
	Trouble   string // what is wrong with the form
	Outcome   *outcome
	Boundary  *boundary
}

// Link is where the experiment stands as it is now, with nothing predicted.
func (v *labView) Link() string {
	to := url.URL{Path: "/lab/" + v.Catalogued.Name, RawQuery: v.Query().Encode()}
	return to.String()
}

// outcome is what came of an experiment, for a reader who had a guess.
type outcome struct {
	Verdicts []scored
	Accounts []*html.Account
	Guessed  bool // the verdict waits until the story has been told
	Lesson   string
	Source   []string
	Length   string // of virtual time
}

// scored is a verdict beside what the reader said, or what it was before.
type scored struct {
	checker.Result
	Remark string
	Turned bool // it was another before
}

// labPage shows a scenario before it is run. Its query may set controls.
func (s *Server) labPage(w http.ResponseWriter, r *http.Request) {
	if v, ok := s.experiment(w, r, r.URL.Query()); ok {
		s.showLab(w, http.StatusOK, v)
	}
}

// labRun runs an experiment and shows what came of it.
func (s *Server) labRun(w http.ResponseWriter, r *http.Request) {
	v, ok := s.posted(w, r)
	if !ok {
		return
	}
	o, err := s.bench.Run(r.Context(), v.Experiment)
	if err != nil {
		s.labFailed(w, v, err)
		return
	}
	if v.Outcome, err = s.outcome(v, o, r.PostForm); err != nil {
		s.labFailed(w, v, err)
		return
	}
	s.showLab(w, http.StatusOK, v)
}

// labBoundary looks for where a control turns the verdicts.
func (s *Server) labBoundary(w http.ResponseWriter, r *http.Request) {
	v, ok := s.posted(w, r)
	if !ok {
		return
	}
	n := v.Number(r.PostForm.Get("control"))
	if n == nil {
		s.fail(w, http.StatusBadRequest, "This scenario has no such control.")
		return
	}
	found, err := s.bench.Boundary(r.Context(), v.Experiment, n)
	if err != nil {
		s.labFailed(w, v, err)
		return
	}
	v.Boundary = drawBoundary(v.Experiment, found)
	s.showLab(w, http.StatusOK, v)
}

func (s *Server) labFailed(w http.ResponseWriter, v *labView, err error) {
	v.Trouble = "The experiment failed: " + err.Error()
	status := http.StatusInternalServerError
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		v.Trouble, status = "The experiment took too long, and was given up.", http.StatusServiceUnavailable
	}
	s.showLab(w, status, v)
}

// posted reads a form. Where it is wrong, it shows why.
func (s *Server) posted(w http.ResponseWriter, r *http.Request) (*labView, bool) {
	r.Body = http.MaxBytesReader(w, r.Body, longestForm)
	if err := r.ParseForm(); err != nil {
		s.fail(w, http.StatusBadRequest, "The form cannot be read.")
		return nil, false
	}
	return s.experiment(w, r, r.PostForm)
}

// experiment makes the experiment that a request asks for, with the controls as
// the form has them.
func (s *Server) experiment(w http.ResponseWriter, r *http.Request, form url.Values) (*labView, bool) {
	all, err := lab.Catalogue()
	if err != nil {
		s.fail(w, http.StatusInternalServerError, err.Error())
		return nil, false
	}
	i := slices.IndexFunc(all, func(c *scenarios.Scenario) bool { return c.Name == r.PathValue("name") })
	if i < 0 {
		s.fail(w, http.StatusNotFound, "The lab has no such scenario.")
		return nil, false
	}
	e, err := lab.New(all[i], form.Get("variant"))
	if err != nil {
		s.fail(w, http.StatusNotFound, "The scenario has no such variant.")
		return nil, false
	}
	v := &labView{Experiment: e, Predicted: map[string]string{}}
	for _, p := range e.Properties {
		v.Predicted[p] = form.Get("predict-" + p)
	}
	if err := e.Read(form); err != nil {
		v.Trouble = err.Error()
		s.showLab(w, http.StatusUnprocessableEntity, v)
		return nil, false
	}
	return v, true
}

func (s *Server) showLab(w http.ResponseWriter, status int, v *labView) {
	set := v.Scenario()
	for _, c := range set.Clients {
		v.Setting = append(v.Setting, c.Name+" "+reports.ClientText(c))
	}
	for _, step := range set.Script {
		v.Steps = append(v.Steps, reports.StepText(step))
	}
	if k := set.Workload; k != nil {
		v.Setting = append(v.Setting,
			fmt.Sprintf("%d clients ask for the lock again and again, for %s; each holds it for about %s",
				k.Clients, k.For, k.Hold))
	}
	for _, f := range set.Nemesis {
		v.Faults = append(v.Faults, reports.RandomText(f))
	}
	for _, rule := range redlock.Rules() {
		if slices.Contains(v.Without(), string(rule.Rule)) {
			v.RuleOff = append(v.RuleOff, rule)
		}
	}
	s.show(w, status, "lab", frame{Title: v.Catalogued.Name + " in the lab", Here: "lab", Lab: true, Page: v})
}

// outcome tells what came of an experiment, beside what the reader said or what
// it was before a control was turned.
func (s *Server) outcome(v *labView, o *lab.Outcome, form url.Values) (*outcome, error) {
	told, err := reports.NewHistory(o.Trial.Events)
	if err != nil {
		return nil, err
	}
	out := &outcome{Lesson: v.Catalogued.Lesson, Source: v.Catalogued.Source, Length: reports.Duration(o.Trial.Simulated),
		Accounts: html.Accounts("lab", o.Trial, told)}
	for _, r := range o.Verdicts {
		said, before := form.Get("predict-"+r.Property), form.Get("before-"+r.Property)
		verdict := scored{Result: r}
		verdict.Remark, verdict.Turned = remark(r, said, before)
		out.Guessed = out.Guessed || said != ""
		out.Verdicts = append(out.Verdicts, verdict)
	}
	return out, nil
}

// remark scores a guess kindly, or says whether a change has turned the verdict.
func remark(r checker.Result, said, before string) (text string, turned bool) {
	switch {
	case r.Verdict == history.Inconclusive:
		return "This run shows nothing either way: " + strings.TrimSuffix(r.Reason, ".") + ".", false
	case said == r.Verdict:
		return "You saw it coming.", false
	case slices.Contains(verdictNames, said):
		return fmt.Sprintf(
			"You said %s. Better to be surprised here than in production: the story shows where it parted from your picture.", said), false
	case said != "":
		return "Now you know; the story shows why.", false
	case slices.Contains(verdictNames, before) && before != r.Verdict:
		return fmt.Sprintf("It was %s: the change has turned it.", before), true
	case before == r.Verdict:
		return "As before.", false
	}
	return "", false
}

// boundary is the picture of where a control turns the verdicts.
type boundary struct {
	Control, Unit string
	Least, Most   string
	Rows          []boundaryRow
	Now           float64 // the place of the control as it stands
	Predicted     float64 // of the predicted value, 0 for none
	Prediction    string  // of it, "" for none
	Seeds         int     // with which each value was tried
}

// boundaryRow is one property.
type boundaryRow struct {
	Property, Text string
	Cells          []cell
}

// cell is one value that was tried.
type cell struct {
	X, W           float64
	Verdict, Title string
}

// stripWidth is the width of the picture, in its own units.
const stripWidth = 600.0

// drawBoundary gives each value that was tried an equal place.
func drawBoundary(e *lab.Experiment, found *lab.Boundary) *boundary {
	n := found.Number
	b := &boundary{Seeds: lab.BoundarySeeds, Control: n.Label, Unit: n.Unit, Least: lab.Text(found.Values[0]), Most: lab.Text(found.Values[len(found.Values)-1])}
	w := stripWidth / float64(len(found.Values))
	for _, p := range e.Properties {
		row := boundaryRow{Property: p}
		for i, v := range found.Verdicts[p] {
			row.Cells = append(row.Cells, cell{float64(i) * w, w - 1, v, fmt.Sprintf("%s %s: %s", lab.Text(found.Values[i]), n.Unit, v)})
		}
		var parts []string
		for _, st := range found.Stretches(p) {
			at := fmt.Sprintf("from %s to %s %s", lab.Text(st.From), lab.Text(st.Until), n.Unit)
			if st.From == st.Until {
				at = fmt.Sprintf("at %s %s", lab.Text(st.From), n.Unit)
			}
			parts = append(parts, st.Verdict+" "+at)
		}
		row.Text = p + ": " + strings.Join(parts, "; ") + "."
		b.Rows = append(b.Rows, row)
	}
	b.Now = (float64(slices.Index(found.Values, n.Value)) + 0.5) * w
	if n.Predicted > 0 {
		b.Predicted = float64(slices.Index(found.Values, n.Predicted)) * w
		b.Prediction = fmt.Sprintf("%s %s", lab.Text(n.Predicted), n.Unit)
	}
	return b
}
