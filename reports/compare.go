package reports

import (
	"fmt"
	"slices"

	"example.org/lockproof/harness/suite"
)

// Comparison compares the verdicts of several runs: of one suite on other clusters or servers, with another lock, or
// repeated.
type Comparison struct {
	Runs []*Report
	Rows []ComparedRow
	// Alone counts the omitted rows that only one run can have: a run with another lock, or without rules, has no
	// variants.
	Alone int
	// Disagreements and Incomplete count rows; ExitCode follows from them.
	Disagreements int
	Incomplete    int
	ExitCode      int
}

// ComparedRow is one scenario or one of its variants.
type ComparedRow struct {
	Scenario string
	Setting  string
	// Why explains a disagreement or an undecided row. It omits runs without the row: a short run beside a long one would
	// list most rows.
	Agreement Agreement
	Why       []string
	// Cells are the runs' rows in the order of the runs; nil if a run lacks the row.
	Cells []*Row
}

// Agreement says whether the runs agree on a row.
type Agreement string

// The agreements. A row that all runs but one skip agrees: nothing can disagree with it.
const (
	Agree      Agreement = "agree"
	Disagree   Agreement = "disagree"
	Incomplete Agreement = "incomplete"
)

// Compare compares runs. Two runs disagree on a property that the scenario names or that one of them violated if their
// worst verdicts differ, or if the intervals of their violation rates are disjoint. A row is incomplete if a run lacks
// it or could not decide it. Runs that were cut short lack rows that nobody can list.
func Compare(runs []*Report) Comparison {
	c := Comparison{Runs: runs}
	var ids []rowKey // the first run's rows, then the others' additional rows
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
		row, possible, ran := c.row(id, cells[id])
		if possible == 1 && len(runs) > 1 {
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
	case c.Incomplete > 0, compared == 0, slices.ContainsFunc(runs, func(r *Report) bool { return r.Interrupted }):
		c.ExitCode = ExitInconclusive
	}
	return c
}

// row compares the runs' rows. It counts the runs that can have the row and the runs that decided it.
func (c *Comparison) row(id rowKey, cells []*Row) (row ComparedRow, possible, ran int) {
	row = ComparedRow{Scenario: id.scenario, Setting: id.setting, Agreement: Agree, Cells: cells}
	properties := row.properties()
	for i, cell := range cells {
		if cell == nil && id.setting != "" && c.Runs[i].hasLockOptions() {
			continue // such a run has no variants
		}
		possible++
		if cell == nil {
			row.Agreement = Incomplete
			continue
		}
		switch why := c.Runs[i].undecided(cell, properties); {
		case why == "":
			ran++
		case cell.Standing != suite.Skipped:
			row.Agreement = Incomplete
			row.Why = append(row.Why, c.Runs[i].Options.Out+": "+why)
		}
	}
	for _, property := range properties {
		if why := c.disagreement(cells, property); why != "" {
			row.Agreement = Disagree
			row.Why = append(row.Why, why)
		}
	}
	return row, possible, ran
}

// servers lists the servers of a run's trials without duplicates: slices may have run on different ones.
func (r *Report) servers() (names []string) {
	for _, t := range trialsOf(r.Rows) {
		if t.Server != "" && !slices.Contains(names, t.Server) {
			names = append(names, t.Server)
		}
	}
	return names
}

// rowKey identifies a row across runs and clusters. A run with its own lock or rules has each scenario once, so that
// its key has no setting.
type rowKey struct{ scenario, setting string }

func (r *Report) key(row *Row) rowKey {
	if r.hasLockOptions() {
		return rowKey{scenario: row.Scenario}
	}
	return rowKey{row.Scenario, row.Setting()}
}

// hasLockOptions reports whether the user chose the lock, its servers, or rules to switch off.
func (r *Report) hasLockOptions() bool {
	return r.Options.Lock != "" || r.Options.Nodes > 0 || len(r.Options.Without) > 0
}

// undecided returns why a row has no verdict on some of the properties, or "". The missing trials of an interrupted run
// could have had another.
func (r *Report) undecided(row *Row, properties []string) string {
	switch {
	case row.Standing == suite.Skipped, row.Standing == suite.HarnessError, row.Standing == suite.Inconclusive:
		return string(row.Standing) + ": " + row.Why
	case r.Interrupted && len(row.Trials) < r.Options.Trials:
		return fmt.Sprintf("interrupted: %d of %s", len(row.Trials), Plural(r.Options.Trials, "trial"))
	}
	for _, name := range properties {
		if p := row.property(name); p.Violated == 0 && (p.Inconclusive > 0 || p.Holds == 0) {
			return fmt.Sprintf("%s: undecided in %d of %s", name, len(row.Trials)-p.Holds, Plural(len(row.Trials), "trial"))
		}
	}
	return ""
}

// properties are named by the scenario or violated in some run.
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

// disagreement names two runs that disagree on a property, or returns "".
func (c *Comparison) disagreement(cells []*Row, property string) string {
	for i := range cells {
		for k := i + 1; k < len(cells); k++ {
			a, b := cells[i].property(property), cells[k].property(property)
			if a.disagrees(b) {
				return fmt.Sprintf("%s: %s violated in %s; %s violated in %s", property, c.Runs[i].Options.Out, a.Rate,
					c.Runs[k].Options.Out, b.Rate)
			}
		}
	}
	return ""
}

// disagrees reports whether two runs decided a property differently.
func (p Property) disagrees(q Property) bool {
	if p.Rate.Trials == 0 || q.Rate.Trials == 0 {
		return false
	}
	return (p.Violated > 0) != (q.Violated > 0) || p.Rate.High < q.Rate.Low || q.Rate.High < p.Rate.Low
}
