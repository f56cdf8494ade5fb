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

// list shows all scenarios: those of the lab, or those with stories.
func (s *Site) list(template, title, here, description string) Page {
	all, err := lab.Catalogue()
	if err != nil {
		return s.fail(broken, err.Error())
	}
	f := s.frame(title, here, all)
	f.Description = description
	return show(ok, template, f)
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
	Boundary  *lab.Boundary
	Link      string      // to the experiment as it stands now, with nothing predicted
	Record    string      // to its history
	YAML      string      // to its scenario
	Breakable []lab.Fault // faults that may be added
	Places    []string    // the steps of the catalogue, before which they may come
	Broken    []addedFault
	Chapters  []guide.Chapter // of the guide, that tell of the scenario
}

// Query is what stands behind an address.
func Query(q url.Values) string {
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// outcome is what came of an experiment, for a reader who had a guess.
type outcome struct {
	Verdicts []scored
	Accounts []*html.Account
	Guessed  bool // the verdict waits until the story has been told
	Lesson   string
	Source   []string
}

// scored is a verdict beside what the reader said, or what it was before.
type scored struct {
	checker.Result
	Tone   string // its colour's meaning
	Remark string
	Turned bool // it was another before
}

// What stands behind the name of a scenario in the address of an experiment's history, as
// lockproof run writes it, and of its scenario, with the faults that were added.
const (
	historyFile  = "history.jsonl"
	scenarioFile = "yaml"
)

// lab answers for one scenario of the lab: with its page, where the query may set controls; with
// what came of a run, or of many at the values of one control; or with a file.
func (s *Site) lab(ctx context.Context, name, action string, r Request) Page {
	name, file, _ := strings.Cut(name, ".")
	v, wrong := s.experiment(name, r.Form)
	if wrong != nil {
		return *wrong
	}
	control := v.Number(r.Form.Get("control"))
	var text bytes.Buffer
	var err error
	switch {
	case file == scenarioFile:
		return Page{ok, "application/yaml", []byte(v.File)}
	case file == historyFile:
		var o *lab.Outcome
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
		v.Trouble = "The experiment took too long, and was given up."
		return s.showLab(tookTooLong, v)
	case err != nil:
		v.Trouble = "The experiment failed: " + err.Error()
		return s.showLab(broken, v)
	case file == historyFile:
		return Page{ok, "application/jsonl", text.Bytes()}
	}
	return s.showLab(ok, v)
}

// experiment makes the experiment on a scenario, with the controls as the form has them;
// where it cannot be, the page that says why.
func (s *Site) experiment(name string, form url.Values) (v *labView, wrong *Page) {
	no := func(p Page) (*labView, *Page) { return nil, &p }
	known, err := lab.Find(name)
	if err != nil {
		return no(s.fail(notFound, sentence(err.Error())))
	}
	of, file := known, ""
	if form.Has(lab.FaultControl) {
		if of, file, err = lab.Add(of, form[lab.FaultControl]); err != nil {
			return no(s.fail(wrongForm, "The fault cannot be added: "+err.Error()))
		}
	}
	e, err := lab.New(of, form.Get("variant"))
	if err != nil {
		return no(s.fail(notFound, "The scenario has no such variant."))
	}
	e.Added, e.File = form[lab.FaultControl], file
	places := stepsOf(known)
	v = &labView{Experiment: e, Predicted: map[string]string{}, Places: places}
	for _, a := range e.Added {
		v.Broken = append(v.Broken, describe(a, places))
	}
	for _, p := range e.Properties {
		v.Predicted[p] = form.Get("predict-" + p)
	}
	if err := e.Read(form); err != nil {
		v.Trouble = err.Error()
		return no(s.showLab(wrongForm, v))
	}
	return v, nil
}

// addedFault is one that a form has, in words.
type addedFault struct{ Value, Text string }

func describe(added string, places []string) addedFault {
	words := strings.Fields(added) // it has been added: it is well formed
	step, _ := strconv.Atoi(words[0])
	return addedFault{added, fmt.Sprintf("%s %s, before: %s", words[1], words[2], places[step-1])}
}

func (s *Site) showLab(status int, v *labView) Page {
	name, query := v.Catalogued.Name, Query(v.Query())
	v.Link, v.Record, v.Chapters = name+".html"+query, name+"."+historyFile+query, guide.About(name)
	v.YAML, v.Breakable = name+"."+scenarioFile+query, lab.Faults
	set := v.Scenario()
	v.Setting = []string{fmt.Sprintf("A lease lasts for %s; a client that finds the lock taken waits and asks again",
		reports.Duration(set.TTL))}
	for _, c := range set.Clients {
		v.Setting = append(v.Setting, c.Name+" "+reports.ClientText(c))
	}
	v.Steps = stepsOf(set)
	if k := set.Workload; k != nil {
		v.Setting = append(v.Setting,
			fmt.Sprintf("%d clients ask for the lock again and again, for %s; each holds it for about %s",
				k.Clients, k.For, k.Hold))
	}
	for _, f := range set.Nemesis {
		v.Faults = append(v.Faults, reports.RandomText(f))
	}
	v.RuleOff = rulesOf(v.Without())
	f := s.frame(v.Catalogued.Name+" in the lab", "lab", v)
	f.Script, f.Description = "lab.js",
		v.Catalogued.Title+". Predict what becomes of it, and change it until the verdict changes."
	return show(status, "lab", f)
}

// rulesOf are the rules of these names, with what each is for.
func rulesOf(names []string) []redlock.RuleInfo {
	return slices.DeleteFunc(redlock.Rules(), func(r redlock.RuleInfo) bool {
		return !slices.Contains(names, string(r.Rule))
	})
}

// stepsOf are the steps of a script, without what has to come of them: a reader is asked.
func stepsOf(s *scenarios.Scenario) []string {
	var all []string
	for _, step := range s.Script {
		step.Must = ""
		all = append(all, reports.StepText(step))
	}
	return all
}

// outcome runs an experiment and tells what came of it, beside what a form says that the reader has
// guessed or what it was before a control was turned.
func (s *Site) outcome(ctx context.Context, e *lab.Experiment, id string, form url.Values) (*outcome, error) {
	o, err := e.Run(ctx, s.run)
	if err != nil {
		return nil, err
	}
	out := &outcome{Lesson: e.Catalogued.Lesson, Source: e.Catalogued.Source}
	for _, r := range o.Verdicts {
		said, before := form.Get("predict-"+r.Property), form.Get("before-"+r.Property)
		verdict := scored{Result: r, Tone: tone(r, o.Trial.Expect, e.Added)}
		verdict.Remark, verdict.Turned = remark(r, said, before)
		out.Guessed = out.Guessed || said != ""
		out.Verdicts = append(out.Verdicts, verdict)
	}
	out.Accounts, err = accounts(id, o.Trial)
	return out, err
}

// accounts tell a trial in pictures and stories, whose elements have ids that begin with id.
func accounts(id string, trial suite.Result) ([]*html.Account, error) {
	told, err := reports.NewHistory(trial.Events)
	if err != nil {
		return nil, err
	}
	return html.Accounts(id, trial, told), nil
}

// tone is what a verdict's colour means: good what holds, doubt a limit that the scenario is there to
// show or that added faults have brought about, or what is undecided, bad a lock that breaks where it should not.
func tone(r checker.Result, expect map[string]string, added []string) string {
	switch {
	case r.Verdict == history.Holds:
		return "good"
	case r.Verdict == history.Violated && len(added) == 0 && expect[r.Property] != history.Violated:
		return "bad"
	}
	return "doubt"
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
			"You said %s. Better to be surprised here than in production: the story shows where it went another way than "+
				"you thought.", said), false
	case said != "":
		return "Now you know; the story shows why.", false
	case slices.Contains(verdictNames, before) && before != r.Verdict:
		return fmt.Sprintf("It was %s: your change made the difference.", before), true
	case before == r.Verdict:
		return "As before.", false
	}
	return "", false
}

// verdictNames are those that a reader may predict.
var verdictNames = []string{history.Holds, history.Violated}
