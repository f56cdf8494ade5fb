package reports

import (
	"fmt"
	"slices"

	"example.org/lockproof/harness/suite"
)

// Comparison sets the verdicts of several runs side by side: of one suite on
// other clusters or servers, with another lock, or twice.
type Comparison struct {
	Runs []*Report
	Rows []ComparedRow
	// Alone counts the rows that one run alone could have, and which are left out: a run
	// with another lock, or without rules, has no variants.
	Alone int
	// Disagreements and Incomplete count rows; ExitCode follows from them.
	Disagreements int
	Incomplete    int
	ExitCode      int
}

// ComparedRow is one scenario, as it stands or as one variant.
type ComparedRow struct {
	Scenario string
	Setting  string
	// Agreement is Agree, Disagree or Incomplete; Why says what of the last two, but for the runs
	// that lack the row: of a short run beside a long one that would be most rows.
	Agreement Agreement
	Why       []string
	// Cells are the runs' own rows, in their order; nil: the run does not have it.
	Cells []*Row
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
	c := Comparison{Runs: runs}
	var ids []rowKey // those of the first run, and what each further one has beside them
	cells := map[rowKey][]*Row{}
	for i, r := range runs {
		for _, row := range r.Rows {
			id := r.key(row)
			if cells[id] == nil {
				ids, cells[id] = append(ids, id), make([]*Row, len(runs))
			}
			cells[id][i] = row
		}
	}
	compared := 0
	for _, id := range ids {
		row, could, ran := c.row(id, cells[id])
		if could == 1 && len(runs) > 1 {
			c.Alone++
			continue
		}
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

// row sets the runs' own rows side by side, and says how many runs could have it and how many ran it.
func (c *Comparison) row(id rowKey, cells []*Row) (row ComparedRow, could, ran int) {
	row = ComparedRow{Scenario: id.scenario, Setting: id.setting, Agreement: Agree, Cells: cells}
	for i, cell := range cells {
		if cell == nil && id.setting != "" && c.Runs[i].chosen() {
			continue // it could not have the row
		}
		could++
		switch {
		case cell == nil:
			row.Agreement = Incomplete
		case cell.undecided() == "":
			ran++
		case cell.Standing != suite.Skipped:
			row.Agreement = Incomplete
			row.Why = append(row.Why, c.Runs[i].Options.Out+": "+cell.undecided())
		}
	}
	for _, property := range row.properties() {
		if why := c.disagreement(cells, property); why != "" {
			row.Agreement = Disagree
			row.Why = append(row.Why, why)
		}
	}
	return row, could, ran
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

// undecided says why a row says nothing, or "".
func (r *Row) undecided() string {
	switch r.Standing {
	case suite.Skipped:
		return "skipped: " + r.Why
	case suite.HarnessError:
		return "failed: " + r.Why
	}
	for _, p := range r.Properties {
		if p.Expected != "" && p.Rate.Trials == 0 {
			return "inconclusive: " + r.Why
		}
	}
	return ""
}

// properties are those that a reader asks about: the scenario names them, or a
// run saw them violated.
func (r *ComparedRow) properties() []string {
	var names []string
	for _, cell := range r.Cells {
		if cell == nil {
			continue
		}
		for _, p := range cell.Shown() {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return propertyRank(a) - propertyRank(b) })
	return names
}

// disagreement says which runs disagree on a property, or "".
func (c *Comparison) disagreement(cells []*Row, property string) string {
	for i := range cells {
		for k := i + 1; k < len(cells); k++ {
			a, b := cells[i].property(property), cells[k].property(property)
			if a.against(b) {
				return fmt.Sprintf("%s: %s violated in %s; %s violated in %s", property, c.Runs[i].Options.Out, a.Rate,
					c.Runs[k].Options.Out, b.Rate)
			}
		}
	}
	return ""
}

// against reports whether two runs decided a property and disagree on it.
func (p Property) against(q Property) bool {
	if p.Rate.Trials == 0 || q.Rate.Trials == 0 {
		return false
	}
	return (p.Violated > 0) != (q.Violated > 0) || p.Rate.High < q.Rate.Low || q.Rate.High < p.Rate.Low
}
