package site

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"example.org/lockproof/lab"
	"example.org/lockproof/lab/exercise"
	"example.org/lockproof/redlock"
	"example.org/lockproof/reports/html"
)

func (s *Site) exerciseList() Page {
	f := s.frame("Write the lock yourself", "exercises", exercise.Levels())
	f.Script = "exercise.js"
	f.Description = "Build a distributed lock rule by rule; the harness answers with the schedule that breaks it."
	return show(ok, "exercise-list", f)
}

// levelView is the page of one level.
type levelView struct {
	exercise.Level
	Place, Of int // of the level among all, from 1
	Next      string
	Decided   map[string]string
	Trouble   string
	Progress  *exercise.Progress
	Passed    bool
	Schedules int      // that have to be survived
	Given     []string // what the levels before it have decided
	breach
}

// breach tells of the schedule that broke what was built.
type breach struct {
	Query    string // of the same in the lab
	Steps    []string
	Accounts []*html.Account
	RuleOff  []redlock.RuleInfo
}

// exercise shows a level; one that was posted is examined, a step at a time.
func (s *Site) exercise(ctx context.Context, name string, r Request) Page {
	level, place, found := exercise.Find(name)
	if !found {
		return s.fail(notFound, "There is no such exercise.")
	}
	all := exercise.Levels()
	v := &levelView{Level: level, Place: place + 1, Of: len(all), Decided: map[string]string{},
		Schedules: exercise.Schedules}
	if place+1 < len(all) {
		v.Next = all[place+1].Name
	}
	for _, l := range all[:place] {
		v.Given = append(v.Given, l.Title)
	}
	for _, q := range level.Questions {
		v.Decided[q.Name] = r.Form.Get(q.Name)
	}
	status := ok
	if r.Posted {
		status = s.examine(ctx, v, r.Form)
	}
	f := s.frame(level.Title, "exercises", v)
	f.Script, f.Description = "exercise.js", level.Text
	return show(status, "exercise", f)
}

// examine fills in what came of an examination, and gives the status of the page.
func (s *Site) examine(ctx context.Context, v *levelView, form url.Values) int {
	without, err := v.Lock(form.Get)
	if err != nil {
		v.Trouble = sentence(err.Error())
		return wrongForm
	}
	tried, err := strconv.Atoi(form.Get("tried"))
	if err != nil && form.Has("tried") {
		v.Trouble = "The number of schedules that were tried is not a number."
		return wrongForm
	}
	p, err := v.Level.Examine(ctx, s.run, without, tried)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		v.Trouble = "The test took too long, and was given up."
		return tookTooLong
	}
	if err == nil && p.Broken != nil {
		v.Steps, v.RuleOff = stepsOf(p.Scenario), rulesOf(without)
		if len(without) == 1 {
			v.Query = Query(url.Values{lab.RuleControl: without})
		}
		v.Accounts, err = accounts("exercise", *p.Broken)
		for _, a := range v.Accounts {
			a.Cause = v.decisions(len(p.Scenario.Nodes)) // the rules' names are not his
		}
	}
	if err != nil {
		v.Trouble = "The examination failed: " + err.Error()
		return broken
	}
	v.Progress, v.Passed = &p, p.Passed()
	return ok
}

// decisions are what the learner decided otherwise than the rules ask, in his own words.
func (l levelView) decisions(servers int) string {
	var all []string
	for _, q := range l.Questions {
		said := l.Decided[q.Name]
		o, err := q.Decide(said)
		if err != nil || len(o.Off) == 0 {
			continue
		}
		if o.Label != "" {
			said = o.Label
		}
		all = append(all, fmt.Sprintf("“%s: %s”%s", q.Label, said, q.Consequence(l.Decided[q.Name], servers)))
	}
	return "your decision, " + strings.Join(all, " and ") + "."
}

// sentence makes one of an error.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
