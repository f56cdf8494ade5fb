package reports

import (
	"fmt"
	"slices"

	"example.org/lockproof/harness/suite"
)

// Comparison sets the verdicts of several runs side by side: of one suite on
// other clusters or servers, with another lock, or twice.
type Comparison struct {
	Runs []ComparedRun
	Rows []ComparedRow
	// Alone counts the rows that one run alone could have, and which are left out: a run
	// with another lock, or without rules, has no variants.
	Alone int
	// Disagreements and Incomplete count rows; ExitCode follows from them.
	Disagreements int
	Incomplete    int
	ExitCode      int
}

// ComparedRun is one of the runs.
type ComparedRun struct {
	Name string // its folder, which tells it from the others
	*Report
}

// ComparedRow is one scenario, as it stands or as one variant.
type ComparedRow struct {
	Scenario string
	Setting  string
	// Agreement is Agree, Disagree or Incomplete; Why says what of the last two.
	Agreement Agreement
	Why       []string
	// Cells are those of the runs, in their order.
	Cells []ComparedCell
}

// ComparedCell is what one run says of a row.
type ComparedCell struct {
	// Outcome is the row's in that run, "" if the run does not have it.
	Standing   suite.Outcome
	Why        string
	Properties []ResultsProperty
}

// Agreement says whether the runs agree on a row.
type Agreement string

// The agreements. A row that is skipped in every run but one agrees: there is
// nothing that could disagree.
const (
	Agree      Agreement = "agree"
	Disagree   Agreement = "disagree"
	Incomplete Agreement = "incomplete"
)

// Compare sets runs side by side. Two runs disagree on a property that the
// scenario names, or that one of them saw violated, if their worst verdicts on
// it differ, or if the intervals of its rates of violation do not meet. A row
// is incomplete where a run lacks it, or could not decide it.
func Compare(runs []*Report) Comparison {
	c := Comparison{}
	for _, r := range runs {
		c.Runs = append(c.Runs, ComparedRun{r.Options.Out, r})
	}
	compared := 0
	for _, id := range rowsOfAll(runs) {
		row := ComparedRow{Scenario: id.scenario, Setting: id.setting}
		ran, could := 0, 0
		for _, r := range runs {
			cell := comparedCell(find(r, id))
			row.Cells = append(row.Cells, cell)
			if cell.undecided() == "" {
				ran++
			}
			if id.setting == "" || !r.chosen() {
				could++
			}
		}
		if could == 1 && len(runs) > 1 {
			c.Alone++
			continue
		}
		c.judge(&row, runs)
		if ran > 1 {
			compared++
		}
		switch row.Agreement {
		case Disagree:
			c.Disagreements++
		case Incomplete:
			c.Incomplete++
		}
		c.Rows = append(c.Rows, row)
	}
	switch {
	case c.Disagreements > 0:
		c.ExitCode = ExitDiffers
	case c.Incomplete > 0, compared == 0:
		c.ExitCode = ExitInconclusive
	}
	return c
}

// servers are what a run's rows ran on, each once.
func (r *Report) servers() []string {
	names := []string{}
	for _, row := range r.Rows {
		if row.Server != "" && !slices.Contains(names, row.Server) {
			names = append(names, row.Server)
		}
	}
	return names
}

// rowKey names a row in every run: its cluster is the run's, and where the user chose
// the lock or the rules, so are these: such a run has each scenario once.
type rowKey struct{ scenario, setting string }

func (r *Report) key(row *Row) rowKey {
	if r.chosen() {
		return rowKey{scenario: row.Scenario}
	}
	return rowKey{row.Scenario, row.Setting()}
}

// chosen reports whether the user chose the lock, its servers, or rules to do without.
func (r *Report) chosen() bool {
	return r.Options.Lock != "" || r.Options.Nodes > 0 || len(r.Options.Without) > 0
}

// rowsOfAll lists the rows of all runs: those of the first, and what each further one has beside them.
func rowsOfAll(runs []*Report) []rowKey {
	var all []rowKey
	for _, r := range runs {
		for _, row := range r.Rows {
			if id := r.key(row); !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	return all
}

func find(r *Report, id rowKey) *Row {
	for _, row := range r.Rows {
		if r.key(row) == id {
			return row
		}
	}
	return nil
}

func comparedCell(row *Row) ComparedCell {
	if row == nil {
		return ComparedCell{}
	}
	return ComparedCell{Standing: row.Standing, Why: row.Why, Properties: row.results().Properties}
}

// notRun is what is said of a row that a run does not have.
const notRun = "not run"

// Missing says why a run has no verdict on any property of a row, or "".
func (c ComparedCell) Missing() string {
	switch c.Standing {
	case "":
		return notRun
	case suite.Skipped:
		return "skipped: " + c.Why
	case suite.HarnessError:
		return "failed: " + c.Why
	}
	return ""
}

// undecided says why a run cannot say anything of a row, or "".
func (c ComparedCell) undecided() string {
	if why := c.Missing(); why != "" {
		return why
	}
	for _, p := range c.Properties {
		if p.Expected != "" && p.Rate.Trials == 0 {
			return "inconclusive: " + c.Why
		}
	}
	return ""
}

func (c ComparedCell) of(name string) (ResultsProperty, bool) {
	for _, p := range c.Properties {
		if p.Name == name {
			return p, true
		}
	}
	return ResultsProperty{}, false
}

// judge fills in whether the runs agree on a row.
func (c *Comparison) judge(row *ComparedRow, runs []*Report) {
	row.Agreement = Agree
	for i, cell := range row.Cells {
		if row.Setting != "" && runs[i].chosen() {
			continue // it could not have the row
		}
		if why := cell.undecided(); why != "" && cell.Standing != suite.Skipped {
			row.Agreement = Incomplete
			row.Why = append(row.Why, c.Runs[i].Name+": "+why)
		}
	}
	for _, property := range row.properties() {
		if why := c.disagreement(row.Cells, property); why != "" {
			row.Agreement = Disagree
			row.Why = append(row.Why, why)
		}
	}
}

// properties are those that a reader asks about: the scenario names them, or a
// run saw them violated.
func (r *ComparedRow) properties() []string {
	var names []string
	for _, cell := range r.Cells {
		for _, p := range cell.Properties {
			if (p.Expected != "" || p.Violated > 0) && !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return propertyRank(a) - propertyRank(b) })
	return names
}

// disagreement says which runs disagree on a property, or "".
func (c *Comparison) disagreement(cells []ComparedCell, property string) string {
	for i := range cells {
		for k := i + 1; k < len(cells); k++ {
			a, inA := cells[i].of(property)
			b, inB := cells[k].of(property)
			if inA && inB && a.against(b) {
				return fmt.Sprintf("%s: %s %s; %s %s", property, c.Runs[i].Name, a.told(), c.Runs[k].Name, b.told())
			}
		}
	}
	return ""
}

// against reports whether two runs decided a property and disagree on it.
func (p ResultsProperty) against(q ResultsProperty) bool {
	if p.Rate.Trials == 0 || q.Rate.Trials == 0 {
		return false
	}
	return (p.Violated > 0) != (q.Violated > 0) || p.Rate.High < q.Rate.Low || q.Rate.High < p.Rate.Low
}

func (p ResultsProperty) told() string { return "violated in " + p.Rate.String() }
