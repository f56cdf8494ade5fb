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

// builder makes the view of a report.
type builder struct {
	report    *reports.Report
	scenarios map[string]*scenarios.Scenario
	ids       map[string]int
}

// group is a scenario with its rows: as it stands, and its variants.
type group struct {
	ID, Name, Title, Lesson string
	Source                  []string
	Articles                []*article
	Alone                   bool // it has the only row of the page
}

// article is one row.
type article struct {
	ID       string
	Group    *group
	Name     string // the lock, and what it was put through
	Setting  string // "" for the scenario as it stands
	Standing suite.Outcome
	Good     bool
	Why      string
	Verdicts []verdict
	Facts    string
	Accounts []*Account
	Drawing  string // where the first account's timeline is, as a file of its own
	Headline string // what that shows
	History  string
	Trouble  string
	Repeat   string // the command that runs it again, of one that is not as expected
}

type verdict struct {
	Property, Got, Expected, Rate string
	Good                          bool
	Limit                         bool // of all locks of its class
}

// Tone is the verdict's colour, which means one thing everywhere: green what holds, yellow a
// limit that the scenario is there to show, or what is undecided, red a bug.
func (v verdict) Tone() string {
	switch {
	case v.Got == history.Holds:
		return "good"
	case v.Got == history.Violated && !v.Good && !v.Limit:
		return "bad"
	}
	return "doubt"
}

// Tone is the colour of what a row came to, as of a verdict.
func (a *article) Tone() string {
	switch a.Standing {
	case suite.AsExpected:
		return "good"
	case suite.LimitOfClass, suite.Inconclusive:
		return "doubt"
	}
	return "bad"
}

// Finding reports whether it is neither as expected nor a limit of all locks of its class.
func (a *article) Finding() bool { return !a.Good && a.Standing != suite.LimitOfClass }

// Folded are its rows that are no findings.
func (g *group) Folded() (all []*article) {
	for _, a := range g.Articles {
		if !a.Finding() {
			all = append(all, a)
		}
	}
	return all
}

// Link is where it can be read about: a scenario that is a finding as a whole has no place of its own.
func (g *group) Link() string {
	if len(g.Folded()) == 0 {
		return g.Articles[0].ID
	}
	return g.ID
}

// Gravest is the first of its rows that are no findings, or one that is a limit.
func (g *group) Gravest() *article {
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
		// What was expected is told of a better verdict, too.
		v.Good = suite.Compare(p.Expected, v.Got, false) == suite.AsExpected
		if len(row.Trials) > 1 {
			v.Rate = "violated in " + p.Rate.String()
		}
		a.Verdicts = append(a.Verdicts, v)
	}
	if row.Standing == suite.Differs && len(a.Verdicts) > 0 {
		a.Why = "" // the verdicts say it
	}
	trial := row.Told()
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

// show fills in what the history of one trial shows, and draws it beside the history.
func (b *builder) show(a *article, found []reports.Finding) {
	for _, f := range found {
		if f.Trouble != nil {
			a.Trouble = f.Trouble.Error()
		}
	}
	all := accounts(a.ID, found)
	if len(all) == 0 {
		return
	}
	a.Headline, a.Drawing = all[0].What, path.Dir(a.History)+"/"+reports.TimelineFile
	if err := reports.WriteFile(b.report.Options.Out, reports.File{Name: a.Drawing, Write: all[0].SVG}); err != nil {
		a.Drawing, a.Trouble = "", err.Error() // the page can do without, but says so
	}
	if all[0].Property != "" && a.Finding() { // all else is loaded when somebody opens it
		a.Accounts = all
	}
}
