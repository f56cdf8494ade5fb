package html

import (
	"path"
	"slices"

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
	Folded                  []*article // those that are no findings
	Alone                   bool       // the page has no other row
}

// article is a row on the page.
type article struct {
	*reports.Row
	ID       string
	Group    *group
	Accounts []*Account
	Drawing  string // file of the first account's timeline
	Headline string // the drawing's result
	Problem  string
}

// IsFinding reports whether the row is neither as expected nor a limit of all locks of its class.
func (a *article) IsFinding() bool {
	return a.Standing != suite.AsExpected && a.Standing != suite.LimitOfClass
}

// Reason explains an unexpected row unless its verdicts do.
func (a *article) Reason() string {
	if a.Standing == suite.AsExpected || a.Standing == suite.Differs && len(a.Shown()) > 0 {
		return ""
	}
	return a.Why
}

// Link is the group's id, or its first row's if all rows are findings: such a group has no section of its own.
func (g *group) Link() string {
	if len(g.Folded) == 0 {
		return g.Articles[0].ID
	}
	return g.ID
}

// Worst is the group's first limit or, without one, its first folded row.
func (g *group) Worst() *article {
	i := slices.IndexFunc(g.Folded, func(a *article) bool { return a.Standing == suite.LimitOfClass })
	return g.Folded[max(i, 0)]
}

func (b *builder) group(row *reports.Row) *group {
	g := &group{ID: b.unique("scenario-" + suite.Slug(row.Scenario)), Name: row.Scenario}
	if s := b.scenarios[row.Scenario]; s != nil {
		g.Title, g.Lesson, g.Source = s.Title, s.Lesson, s.Source
	}
	return g
}

// article shows a row with the accounts of its shown trial. It writes the trial's timeline beside the history.
func (b *builder) article(row *reports.Row, g *group) *article {
	id := suite.Slug(row.Scenario)
	if setting := row.Setting(); setting != "" {
		id += "--" + suite.Slug(setting)
	}
	a := &article{Row: row, ID: b.unique(id), Group: g}
	history := row.ShownTrial().History
	if history == "" {
		return a
	}
	found := row.Findings()
	for _, f := range found {
		if f.Err != nil {
			a.Problem = f.Err.Error()
		}
	}
	all := Accounts(a.ID, found)
	if len(all) == 0 {
		return a
	}
	a.Headline, a.Drawing = all[0].What, path.Join(path.Dir(history), reports.TimelineFile)
	if err := reports.WriteFile(b.report.Options.Out, reports.File{Name: a.Drawing, Write: all[0].SVG}); err != nil {
		a.Drawing, a.Problem = "", err.Error() // the page reports the missing file
	}
	if all[0].Property != "" && a.IsFinding() { // the page loads other timelines on demand
		a.Accounts = all
	}
	return a
}
