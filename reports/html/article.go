package html

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
	"example.org/lockproof/scenarios"
)

// builder builds the view of a report.
type builder struct {
	report    *reports.Report
	scenarios map[string]*scenarios.Scenario
	ids       map[string]int
}

// group is a scenario with the rows of itself and of its variants.
type group struct {
	ID, Name, Title, Lesson string
	Source                  []string
	Articles                []*article
	Alone                   bool // the page has no other row
}

type article struct {
	ID       string
	Group    *group
	Name     string // the lock and the scenario
	Setting  string // "" for the scenario itself
	Standing suite.Outcome
	Good     bool
	Why      string
	Verdicts []verdict
	Facts    string
	Accounts []*Account
	Drawing  string // file of the first account's timeline
	Headline string // the drawing's result
	History  string
	Problem  string
	Repeat   string // the command that reproduces an unexpected result
}

type verdict struct {
	Property, Got, Expected, Rate string
	Good                          bool
	Limit                         bool // all locks of its class have this limit
}

// Tone is the verdict's colour, with one meaning everywhere: green holds, yellow is an expected limit or undecided, red
// is a bug.
func (v verdict) Tone() string {
	switch {
	case v.Got == history.Holds:
		return "good"
	case v.Got == history.Violated && !v.Good && !v.Limit:
		return "bad"
	}
	return "doubt"
}

// Tone is the colour of the row's result, as for a verdict.
func (a *article) Tone() string {
	switch a.Standing {
	case suite.AsExpected:
		return "good"
	case suite.LimitOfClass, suite.Inconclusive:
		return "doubt"
	}
	return "bad"
}

// Finding reports whether the row is neither as expected nor a limit of all locks of its class.
func (a *article) Finding() bool { return !a.Good && a.Standing != suite.LimitOfClass }

// Folded are the group's rows that are no findings.
func (g *group) Folded() (all []*article) {
	for _, a := range g.Articles {
		if !a.Finding() {
			all = append(all, a)
		}
	}
	return all
}

// Link is the group's id, or its first row's if all rows are findings: such a group has no section of its own.
func (g *group) Link() string {
	if len(g.Folded()) == 0 {
		return g.Articles[0].ID
	}
	return g.ID
}

// Worst is the group's first limit or, without one, its first folded row.
func (g *group) Worst() *article {
	all := g.Folded()
	if i := slices.IndexFunc(all, func(a *article) bool { return !a.Good }); i >= 0 {
		return all[i]
	}
	return all[0]
}

func (b *builder) group(row *reports.Row) *group {
	g := &group{ID: b.unique("scenario-" + suite.Slug(row.Scenario)), Name: row.Scenario}
	if s := b.scenarios[row.Scenario]; s != nil {
		g.Title, g.Lesson, g.Source = s.Title, s.Lesson, s.Source
	}
	return g
}

func (b *builder) article(row *reports.Row, g *group) *article {
	id, setting := suite.Slug(row.Scenario), row.Setting()
	if setting != "" {
		id += "--" + suite.Slug(setting)
	}
	a := &article{ID: b.unique(id), Group: g, Name: row.Scenario, Setting: setting,
		Standing: row.Standing, Good: row.Standing == suite.AsExpected, Why: row.Why}
	if row.Lock != "" {
		a.Name = row.Lock + " in " + row.Scenario
	}
	if setting != "" {
		a.Name += ", " + setting
	}
	for _, p := range row.Shown() {
		v := verdict{Property: p.Name, Got: p.Verdict(), Expected: p.Expected, Limit: row.Standing == suite.LimitOfClass}
		// A better verdict than expected is marked, too.
		v.Good = suite.Compare(p.Expected, v.Got, false) == suite.AsExpected
		if len(row.Trials) > 1 {
			v.Rate = "violated in " + p.Rate.String()
		}
		a.Verdicts = append(a.Verdicts, v)
	}
	if row.Standing == suite.Differs && len(a.Verdicts) > 0 {
		a.Why = "" // the verdicts show it
	}
	trial := row.ShownTrial()
	a.Facts, a.Repeat = reports.TrialText(trial.Result), row.First().Repeat
	if n := len(row.Trials); n > 1 {
		a.Facts = fmt.Sprintf("%d trials. Shown: %s", n, a.Facts)
	}
	if trial.History == "" {
		return a
	}
	if filepath.IsLocal(filepath.FromSlash(trial.History)) {
		a.History = "./" + path.Clean(trial.History)
	}
	b.show(a, row.Findings())
	return a
}

// show adds the accounts of the shown trial and writes its timeline beside the history.
func (b *builder) show(a *article, found []reports.Finding) {
	for _, f := range found {
		if f.Err != nil {
			a.Problem = f.Err.Error()
		}
	}
	all := accounts(a.ID, found)
	if len(all) == 0 {
		return
	}
	a.Headline, a.Drawing = all[0].What, path.Dir(a.History)+"/"+reports.TimelineFile
	if err := reports.WriteFile(b.report.Options.Out, reports.File{Name: a.Drawing, Write: all[0].SVG}); err != nil {
		a.Drawing, a.Problem = "", err.Error() // the page reports the missing file
	}
	if all[0].Property != "" && a.Finding() { // the page loads other timelines on demand
		a.Accounts = all
	}
}
