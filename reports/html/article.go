package html

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lockproof/checker"
	"lockproof/harness"
	"lockproof/harness/history"
	"lockproof/reports"
	"lockproof/scenarios"
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
}

// article is one row.
type article struct {
	ID       string
	Setting  string // "" for the scenario as it stands
	Standing harness.Standing
	Good     bool
	Why      string
	Verdicts []verdict
	Facts    string
	Accounts []*account
	Healthy  *account // what happened, where nothing was violated
	Plots    *plots
	History  string
	Trouble  string
}

type verdict struct {
	Property, Got, Expected, Rate string
	Good                          bool
}

// account tells of one violation, or of a history without one.
type account struct {
	ID        string
	Property  string
	What      string // "" where nothing was violated
	Blame     string
	More      int
	Settings  []string
	Picture   *timeline
	Marks     []sentence
	Omitted   int
	Events    *eventTable
	Porcupine string
}

// sentence is one turn of the story.
type sentence struct {
	mark
	Listed bool // its event is in the table
}

// Drawn reports whether the article has a timeline.
func (a *article) Drawn() bool { return len(a.Accounts) > 0 || a.Healthy != nil }

// Worst is the gravest of the article's verdicts.
func (a *article) Worst() string {
	worst := history.Holds
	for _, v := range a.Verdicts {
		if v.Got == history.Violated || v.Got == history.Inconclusive && worst == history.Holds {
			worst = v.Got
		}
	}
	return worst
}

func (b *builder) group(row *reports.Row, first *article) *group {
	g := &group{ID: b.unique("scenario-" + slug(row.Scenario)), Name: row.Scenario, Articles: []*article{first}}
	if s := b.scenarios[row.Scenario]; s != nil {
		g.Title, g.Lesson, g.Source = s.Title, s.Lesson, s.Source
	}
	return g
}

func (b *builder) article(row *reports.Row) *article {
	id := slug(row.Scenario)
	if s := row.Setting(); s != "" {
		id += "--" + slug(s)
	}
	a := &article{ID: b.unique(id), Setting: row.Setting(), Standing: row.Standing, Good: row.Standing == harness.AsExpected, Why: row.Why}
	for _, p := range row.Shown() {
		v := verdict{Property: p.Name, Got: p.Verdict(), Expected: p.Expected}
		v.Good = p.Expected == v.Got || p.Expected == "" && v.Got == history.Holds
		if len(row.Trials) > 1 {
			v.Rate = "violated in " + p.Rate().String()
		}
		a.Verdicts = append(a.Verdicts, v)
	}
	if row.Standing == harness.Differs && len(a.Verdicts) > 0 {
		a.Why = "" // the verdicts say it
	}
	trial, violated := row.Shows()
	if !violated {
		trial = row.First()
	}
	a.Facts = facts(row, trial)
	if trial.History == "" {
		return a
	}
	if !filepath.IsLocal(filepath.FromSlash(trial.History)) {
		a.Trouble = fmt.Sprintf("the history %q is not a path below the output folder", trial.History)
		return a
	}
	a.History = "./" + path.Clean(trial.History)
	events, err := reports.ReadHistory(filepath.Join(b.report.Options.Out, filepath.FromSlash(trial.History)))
	var cut *history.Truncated
	if err != nil && !errors.As(err, &cut) {
		a.Trouble = err.Error()
		return a
	}
	b.show(a, trial, events)
	return a
}

func facts(row *reports.Row, t harness.Trial) string {
	text := fmt.Sprintf("trial %d, seed %d, lock %s, %s cluster", t.Trial, t.Seed, t.Lock, t.Cluster)
	if n := len(row.Trials); n > 1 {
		text = fmt.Sprintf("%d trials; shown: %s", n, text)
	}
	return text
}

// show fills in what the events of one trial show.
func (b *builder) show(a *article, trial harness.Trial, events []history.Event) {
	leases, tenures := checker.Leases(events), checker.Timeline(events)
	for _, r := range trial.Results {
		if r.Verdict != history.Violated || len(r.Violations) == 0 {
			continue
		}
		v := &r.Violations[0]
		c := tell(fmt.Sprintf("%s-%s", a.ID, slug(r.Property)), events, leases, tenures, v, r.Property)
		c.More = max(len(r.Violations), int(r.Measured["violations"])) - 1
		c.Events = list(a.ID, events, &c.story, v)
		if len(a.Accounts) > 0 {
			c.Events = nil // one table for the history's events
		}
		c.number()
		if r.Property == history.MutualExclusion {
			c.Porcupine = b.porcupine(a.History, events, *v)
		}
		a.Accounts = append(a.Accounts, &c.account)
	}
	s := b.scenarios[trial.Scenario]
	if s != nil && s.Workload != nil {
		a.Plots = plotsOf(a.ID, events, trial)
	} else if len(a.Accounts) == 0 && len(leases)+len(tenures) > 0 {
		c := tell(a.ID, events, leases, tenures, nil, "")
		c.number()
		a.Healthy = &c.account
	}
}

// telling is an account being made.
type telling struct {
	account
	story reports.Story
}

func tell(id string, events []history.Event, leases []checker.Lease, tenures []checker.Tenure, v *checker.Violation, property string) *telling {
	c := &telling{story: reports.Tell(events, leases, tenures, v)}
	c.account = account{ID: id, Property: property, Settings: c.story.Settings, Omitted: c.story.Omitted}
	if v != nil {
		c.What = sentenceCase(strings.TrimSuffix(v.What, "."))
	}
	if v != nil && v.Blame != nil {
		c.Blame = brokeText(v.Blame)
	}
	c.Picture = draw(id, &c.story, v, property, events[len(events)-1].Time)
	return c
}

// brokeText names the rule or the assumption that broke, and says how.
func brokeText(b *checker.Blame) string {
	broke := "the rule " + b.Broke
	switch {
	case b.Broke == checker.Unexplained:
		broke = b.Broke
	case strings.Contains(b.Broke, " "):
		broke = "the assumption that " + b.Broke
	}
	return fmt.Sprintf("%s: %s.", broke, strings.TrimSuffix(b.Why, "."))
}

// number makes the sentences, with links to the events that are listed.
func (c *telling) number() {
	listed := map[int]bool{}
	if c.Events != nil {
		for _, r := range c.Events.Rows {
			listed[r.Index] = true
		}
	}
	for _, m := range c.Picture.Marks {
		c.Marks = append(c.Marks, sentence{m, listed[m.Event]})
	}
}

// porcupine writes porcupine's own picture beside a history, and gives its
// path; "" if that cannot be done, for the page can do without.
func (b *builder) porcupine(name string, events []history.Event, v checker.Violation) string {
	var page bytes.Buffer
	if err := checker.Picture(events, v, &page); err != nil {
		return ""
	}
	picture := path.Dir(name) + "/" + reports.PorcupineFile
	if err := os.WriteFile(filepath.Join(b.report.Options.Out, filepath.FromSlash(picture)), page.Bytes(), 0o644); err != nil {
		return ""
	}
	return picture
}
