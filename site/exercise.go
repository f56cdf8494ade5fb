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

type levelView struct {
	exercise.Level
	Number    int // from 1
	Levels    int
	Next      string
	Answers   map[string]string
	Problem   string
	Progress  *exercise.Progress
	Passed    bool
	Schedules int      // needed to pass
	Earlier   []string // titles of the levels before
	breach
}

// breach describes the schedule that broke the learner's lock.
type breach struct {
	Query    string // query of the same lock in the lab
	Steps    []string
	Accounts []*html.Account
	RuleOff  []redlock.RuleInfo
}

// exercise shows a level. It examines a posted lock step by step.
func (s *Site) exercise(ctx context.Context, name string, r Request) Page {
	level, place, found := exercise.Find(name)
	if !found {
		return s.fail(notFound, "There is no such exercise.")
	}
	all := exercise.Levels()
	v := &levelView{Level: level, Number: place + 1, Levels: len(all), Answers: map[string]string{},
		Schedules: exercise.Schedules}
	if place+1 < len(all) {
		v.Next = all[place+1].Name
	}
	for _, l := range all[:place] {
		v.Earlier = append(v.Earlier, l.Title)
	}
	for _, q := range level.Questions {
		v.Answers[q.Name] = r.Form.Get(q.Name)
	}
	status := ok
	if r.Posted {
		status = s.examine(ctx, v, r.Form)
	}
	f := s.frame(level.Title, "exercises", v)
	f.Script, f.Description = "exercise.js", level.Text
	return show(status, "exercise", f)
}

// examine adds the result of an examination, and returns the page's status.
func (s *Site) examine(ctx context.Context, v *levelView, form url.Values) int {
	without, err := v.Lock(form.Get)
	if err != nil {
		v.Problem = sentence(err.Error())
		return wrongForm
	}
	tried, err := strconv.Atoi(form.Get("tried"))
	if err != nil && form.Has("tried") {
		v.Problem = "The number of schedules that were tried is not a number."
		return wrongForm
	}
	p, err := v.Level.Examine(ctx, s.run, without, tried)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		v.Problem = "The test took too long and was stopped."
		return tookTooLong
	}
	if err == nil && p.Broken != nil {
		v.Steps, v.RuleOff = stepsOf(p.Scenario), rulesOf(without)
		if len(without) == 1 {
			v.Query = Query(url.Values{lab.RuleControl: without})
		}
		v.Accounts, err = accounts("exercise", *p.Broken)
		for _, a := range v.Accounts {
			a.Cause = v.decisions(len(p.Scenario.Nodes)) // the learner does not know the rules' names
		}
	}
	if err != nil {
		v.Problem = "The examination failed: " + err.Error()
		return broken
	}
	v.Progress, v.Passed = &p, p.Passed()
	return ok
}

// decisions quotes the learner's wrong decisions.
func (l levelView) decisions(servers int) string {
	var all []string
	for _, q := range l.Questions {
		answer := l.Answers[q.Name]
		o, err := q.Decide(answer)
		if err != nil || len(o.Off) == 0 {
			continue
		}
		if o.Label != "" {
			answer = o.Label
		}
		all = append(all, fmt.Sprintf("“%s: %s”%s", q.Label, answer, q.Consequence(l.Answers[q.Name], servers)))
	}
	return "your decision, " + strings.Join(all, " and ")
}

// sentence makes a sentence of an error.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
