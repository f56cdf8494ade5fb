package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.org/lockproof/checker"
	"example.org/lockproof/docs/guide"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/lab"
	"example.org/lockproof/redlock"
	"example.org/lockproof/reports"
	"example.org/lockproof/reports/html"
	"example.org/lockproof/scenarios"
)

// list shows all scenarios: in the lab, or with stories.
func (s *Site) list(template, title, here, description string) Page {
	all, err := lab.Catalogue()
	if err != nil {
		return s.fail(broken, err.Error())
	}
	f := s.frame(title, here, all)
	f.Description = description
	return show(ok, template, f)
}

type labView struct {
	*lab.Experiment
	Setting     []string // the clients, the TTL and the workload
	Steps       []string
	Faults      []string
	RuleOff     []redlock.RuleInfo
	Predicted   map[string]string
	Problem     string // a mistake in the form
	Outcome     *outcome
	Boundary    *lab.Boundary
	Link        string      // to the experiment with these controls
	Record      string      // link to its history
	YAML        string      // link to its scenario
	Breakable   []lab.Fault // faults that a reader may add
	FaultSteps  []string    // the original steps; faults are added before one of them
	AddedFaults []addedFault
	Chapters    []guide.Chapter // the guide's chapters about the scenario
}

// Query is the query part of an address.
func Query(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// outcome is the result of an experiment for a reader with a prediction.
type outcome struct {
	Verdicts []scored
	Accounts []*html.Account
	Guessed  bool // the page shows the verdict after the story
}

// scored is a verdict beside the reader's prediction or the previous verdict.
type scored struct {
	checker.Result
	Tone   reports.Tone
	Remark string
	Turned bool // it differs from the previous verdict
}

// The suffixes of addresses below a scenario's name: the experiment's history, as lockproof run writes it, and its
// scenario with the added faults.
const (
	historyFile  = "history.jsonl"
	scenarioFile = "yaml"
)

// lab returns a scenario's page with controls from the query, the page with the result of one run or of a boundary
// search, or a file.
func (s *Site) lab(ctx context.Context, name, action string, r Request) Page {
	name, file, _ := strings.Cut(name, ".")
	v, problem := s.experiment(name, r.Form)
	if problem != nil {
		return *problem
	}
	control := v.Number(r.Form.Get("control"))
	var text bytes.Buffer
	var err error
	switch {
	case file == scenarioFile:
		return Page{ok, "application/yaml", []byte(v.File)}
	case file == historyFile:
		var o *lab.Result
		if o, err = v.Run(ctx, s.run); err == nil {
			err = o.Write(&text)
		}
	case !r.Posted:
	case action == "boundary" && control == nil:
		return s.fail(badRequest, "This scenario has no such control.")
	case action == "boundary":
		v.Boundary, err = v.Experiment.Boundary(ctx, s.run, control)
	default:
		v.Outcome, err = s.outcome(ctx, v.Experiment, "lab", r.Form)
	}
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		v.Problem = "The experiment took too long and was stopped."
		return s.showLab(tookTooLong, v)
	case err != nil:
		v.Problem = "The experiment failed: " + err.Error()
		return s.showLab(broken, v)
	case file == historyFile:
		return Page{ok, "application/jsonl", text.Bytes()}
	}
	return s.showLab(ok, v)
}

// experiment makes an experiment with the form's controls, or a page that explains a mistake.
func (s *Site) experiment(name string, form url.Values) (v *labView, problem *Page) {
	refuse := func(p Page) (*labView, *Page) { return nil, &p }
	known, err := lab.Find(name)
	if err != nil {
		return refuse(s.fail(notFound, sentence(err.Error())))
	}
	scenario, file := known, ""
	if form.Has(lab.FaultControl) {
		if scenario, file, err = lab.Add(scenario, form[lab.FaultControl]); err != nil {
			return refuse(s.fail(wrongForm, "The fault cannot be added: "+err.Error()))
		}
	}
	e, err := lab.New(scenario, form.Get("variant"))
	if err != nil {
		return refuse(s.fail(notFound, "The scenario has no such variant."))
	}
	e.Added, e.File = form[lab.FaultControl], file
	steps := stepsOf(known)
	v = &labView{Experiment: e, Predicted: map[string]string{}, FaultSteps: steps}
	for _, a := range e.Added {
		v.AddedFaults = append(v.AddedFaults, describe(a, steps))
	}
	for _, p := range e.Properties {
		v.Predicted[p] = form.Get("predict-" + p)
	}
	if err := e.Read(form); err != nil {
		v.Problem = err.Error()
		return refuse(s.showLab(wrongForm, v))
	}
	return v, nil
}

// addedFault is a fault from the form with its description.
type addedFault struct{ Value, Text string }

func describe(added string, steps []string) addedFault {
	words := strings.Fields(added) // lab.Add has checked the format
	step, _ := strconv.Atoi(words[0])
	return addedFault{added, fmt.Sprintf("%s %s, before: %s", words[1], words[2], steps[step-1])}
}

func (s *Site) showLab(status int, v *labView) Page {
	name, query := v.Catalogued.Name, Query(v.Query())
	v.Link, v.Record, v.Chapters = name+".html"+query, name+"."+historyFile+query, guide.About(name)
	v.YAML, v.Breakable = name+"."+scenarioFile+query, lab.Faults
	set := v.Scenario()
	v.Setting = []string{fmt.Sprintf("The TTL is %s; a client that finds the lock taken waits and retries",
		reports.Duration(set.TTL))}
	for _, c := range set.Clients {
		v.Setting = append(v.Setting, c.Name+" "+reports.ClientText(c))
	}
	v.Steps = stepsOf(set)
	if k := set.Workload; k != nil {
		v.Setting = append(v.Setting,
			fmt.Sprintf("%d clients acquire the lock repeatedly, for %s; each holds it for about %s",
				k.Clients, k.For, k.Hold))
	}
	for _, f := range set.Nemesis {
		v.Faults = append(v.Faults, reports.RandomText(f))
	}
	v.RuleOff = rulesOf(v.Without())
	f := s.frame(v.Catalogued.Name+" in the lab", "lab", v)
	f.Script, f.Description = "lab.js",
		v.Catalogued.Title+". Predict the verdict, and change the scenario until the verdict changes."
	return show(status, "lab", f)
}

// rulesOf returns the rules with these names.
func rulesOf(names []string) []redlock.RuleInfo {
	return slices.DeleteFunc(redlock.Rules(), func(r redlock.RuleInfo) bool {
		return !slices.Contains(names, string(r.Rule))
	})
}

// stepsOf describes the steps of a script without their expected results, which the reader predicts.
func stepsOf(s *scenarios.Scenario) []string {
	var all []string
	for _, step := range s.Script {
		step.Must = ""
		all = append(all, reports.StepText(step))
	}
	return all
}

// outcome runs an experiment. It compares each verdict with the form's prediction or previous verdict.
func (s *Site) outcome(ctx context.Context, e *lab.Experiment, id string, form url.Values) (*outcome, error) {
	o, err := e.Run(ctx, s.run)
	if err != nil {
		return nil, err
	}
	out := &outcome{}
	for _, r := range o.Verdicts {
		predicted, before := form.Get("predict-"+r.Property), form.Get("before-"+r.Property)
		// A violation that follows added faults is no bug.
		bug := len(e.Added) == 0 && o.Trial.Expect[r.Property] != history.Violated
		verdict := scored{Result: r, Tone: reports.VerdictTone(r.Verdict, bug)}
		verdict.Remark, verdict.Turned = remark(r, predicted, before)
		out.Guessed = out.Guessed || predicted != ""
		out.Verdicts = append(out.Verdicts, verdict)
	}
	out.Accounts, err = accounts(id, o.Trial)
	return out, err
}

// accounts makes pictures and stories of a trial. Their element ids begin with id.
func accounts(id string, trial suite.Result) ([]*html.Account, error) {
	h, err := reports.NewHistory(trial.Events)
	if err != nil {
		return nil, err
	}
	return html.Accounts(id, reports.Findings(trial, h)), nil
}

// remark comments on a prediction, or on a change of the verdict.
func remark(r checker.Result, predicted, before string) (text string, turned bool) {
	switch {
	case r.Verdict == history.Inconclusive:
		return "This run is not evidence either way: " + strings.TrimSuffix(r.Reason, ".") + ".", false
	case predicted == r.Verdict:
		return "You saw it coming.", false
	case slices.Contains(verdictNames, predicted):
		return fmt.Sprintf(
			"You said %s. Better to be surprised here than in production: the story shows where it differs from what "+
				"you expected.", predicted), false
	case predicted != "":
		return "Now you know; the story shows why.", false
	case slices.Contains(verdictNames, before) && before != r.Verdict:
		return fmt.Sprintf("It was %s: your change made the difference.", before), true
	case before == r.Verdict:
		return "As before.", false
	}
	return "", false
}

// verdictNames are the verdicts that a reader may predict.
var verdictNames = []string{history.Holds, history.Violated}
