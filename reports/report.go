package reports

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
)

// The exit codes of a run.
const (
	ExitAsExpected   = 0
	ExitDiffers      = 1
	ExitInconclusive = 4
	ExitFailed       = 3
)

// Run describes a run apart from its trials; results.json has the same fields.
type Run struct {
	Version string        `json:"-"` // of lockproof
	Go      string        `json:"-"` // Go's version
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	// Planned is the intended number of trials. An interrupted run may have fewer.
	Planned     int           `json:"planned"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Options     suite.Options `json:"options"`
	Slice       *Slice        `json:"slice,omitempty"` // nil: the whole suite
	// Incomplete lists missing slices of a merged run; nil: none is missing, or the run was not merged.
	Incomplete *MissingSlices `json:"incomplete,omitempty"`
	Lock       LockUnderTest  `json:"lock,omitzero"`
	// Named is set if the user named scenarios instead of running the catalogue: then expected violations are shown, too.
	Named bool `json:"named,omitempty"`
}

// Slice identifies the part of a suite that ran.
type Slice struct {
	suite.Slice
	// Suite is the fingerprint of the whole suite, Rows the names of its rows.
	Suite string   `json:"suite"`
	Rows  []string `json:"rows"`
	// Skipped are the rows that this machine cannot run. The division into slices depends on them.
	Skipped []string `json:"skipped,omitempty"`
}

// Report is a run with its trials grouped into rows.
type Report struct {
	Run
	Rows []*Row
}

// Row is all trials of one scenario or variant on one cluster with one lock; results.json has the same fields.
type Row struct {
	Scenario string   `json:"scenario"`
	Variant  string   `json:"variant,omitempty"`
	Cluster  string   `json:"cluster"`
	Server   string   `json:"server,omitempty"` // of the first trial with a server
	Lock     string   `json:"lock"`
	Without  []string `json:"without,omitempty"`
	// Standing is the worst of the trials'; Why is the reason of the first trial with it.
	Standing suite.Standing `json:"standing"`
	Answer   suite.Answer   `json:"answer,omitempty"` // of a lock under test
	Why      string         `json:"why"`
	// Counts counts the trials by standing.
	Counts     map[suite.Standing]int `json:"counts"`
	Properties []Property             `json:"properties,omitempty"`
	// Elapsed is the real time of all trials, Simulated the time on the runs' own clocks.
	Elapsed   time.Duration `json:"elapsed"`
	Simulated time.Duration `json:"simulated"`
	Trials    []Trial       `json:"trials"`

	// Findings describes the shown trial. Several files use it, so that it is computed once.
	Findings func() []Finding `json:"-"`
}

// Trial is one trial with its standing.
type Trial struct {
	suite.Result
	Standing suite.Standing `json:"standing"`
	Why      string         `json:"why"`
}

// Property counts the verdicts of a row's trials on one property.
type Property struct {
	Name     string `json:"property"`
	Expected string `json:"expected,omitempty"` // a verdict, or "" if the scenario does not name it
	// The number of trials with each verdict.
	Holds        int `json:"holds"`
	Violated     int `json:"violated"`
	Inconclusive int `json:"inconclusive"`
	// Rate is the share of violations in decided trials.
	Rate Rate `json:"rate"`

	differs bool // in some trial
}

// Tone is the tone of the worst verdict.
func (p Property) Tone() Tone { return VerdictTone(p.Verdict(), p.differs) }

// Expects reports whether the scenario expects the worst verdict. It does not expect a better one.
func (p Property) Expects() bool {
	return suite.Compare(p.Expected, p.Verdict(), false) == suite.AsExpected
}

// Verdict is the worst of all trials: violated, then inconclusive, then holds.
func (p Property) Verdict() string {
	switch {
	case p.Violated > 0:
		return history.Violated
	case p.Inconclusive > 0:
		return history.Inconclusive
	}
	return history.Holds
}

// share counts the trials with the worst verdict, and all trials.
func (p Property) share() (n, all int) {
	n = map[string]int{history.Holds: p.Holds, history.Violated: p.Violated,
		history.Inconclusive: p.Inconclusive}[p.Verdict()]
	return n, p.Holds + p.Violated + p.Inconclusive
}

// severity orders standings as the exit code does. The worst trial decides the standing of a row or a run.
var severity = []suite.Standing{
	suite.Differs, suite.HarnessError, suite.LimitOfClass, suite.Inconclusive, suite.AsExpected, suite.Skipped,
}

// New groups trials into rows in the order of each row's first trial. Within a row it sorts them by number.
func New(trials []suite.Result, run Run) *Report {
	report := &Report{Run: run}
	rows := map[string]*Row{}
	for _, t := range trials {
		id := rowID(t)
		row := rows[id]
		if row == nil {
			row = &Row{Scenario: t.Scenario, Variant: t.Variant, Cluster: t.Cluster, Lock: t.Lock, Without: t.Without}
			rows[id] = row
			report.Rows = append(report.Rows, row)
		}
		standing, why := t.Standing()
		row.Trials = append(row.Trials, Trial{t, standing, why})
	}
	for _, row := range report.Rows {
		row.summarize()
		row.Findings = sync.OnceValue(func() []Finding { return row.readFindings(run.Options.Out) })
	}
	return report
}

func rowID(t suite.Result) string {
	return strings.Join([]string{t.Scenario, t.Variant, t.Cluster, t.Lock, strings.Join(t.Without, ",")}, "\x00")
}

// summarize fills in the fields that follow from the row's trials.
func (r *Row) summarize() {
	slices.SortStableFunc(r.Trials, func(a, b Trial) int { return a.Trial - b.Trial })
	r.Counts = map[suite.Standing]int{}
	for _, t := range r.Trials {
		r.Counts[t.Standing]++
		r.Server = cmp.Or(r.Server, t.Server)
		r.Elapsed += t.Elapsed
		r.Simulated += t.Simulated
		for _, j := range t.Judgements() {
			r.count(j)
		}
	}
	slices.SortStableFunc(r.Properties, func(a, b Property) int { return propertyRank(a.Name) - propertyRank(b.Name) })
	for i, p := range r.Properties {
		r.Properties[i].Rate = newRate(p.Violated, p.Holds+p.Violated)
	}
	r.Standing = worst(r.Counts)
	r.Why = r.First().Why
	if r.underTest() {
		r.Answer, _ = r.First().Answer()
	}
}

func (r *Row) count(j suite.Judgement) {
	i := slices.IndexFunc(r.Properties, func(p Property) bool { return p.Name == j.Property })
	if i < 0 {
		i = len(r.Properties)
		r.Properties = append(r.Properties, Property{Name: j.Property, Expected: j.Expected})
	}
	p := &r.Properties[i]
	p.differs = p.differs || j.Standing == suite.Differs
	switch j.Got {
	case history.Holds:
		p.Holds++
	case history.Violated:
		p.Violated++
	default:
		p.Inconclusive++
	}
}

// propertyRank sorts known properties in their usual order before others.
func propertyRank(name string) int {
	if i := slices.Index(checker.Names(), name); i >= 0 {
		return i
	}
	return len(checker.Names())
}

func worst(counts map[suite.Standing]int) suite.Standing {
	for _, s := range severity {
		if counts[s] > 0 {
			return s
		}
	}
	return suite.Inconclusive
}

// Tone is the tone of the row's standing.
func (r *Row) Tone() Tone { return StandingTone(r.Standing) }

// Name is the scenario's name with the setting in brackets.
func (r *Row) Name() string { return nameOf(r.Scenario, r.Setting()) }

func nameOf(scenario, setting string) string {
	if setting == "" {
		return scenario
	}
	return scenario + " (" + setting + ")"
}

// Setting names the difference to the unchanged scenario: the variant, or the rules that the user switched off.
func (r *Row) Setting() string {
	if r.Variant != "" {
		return r.Variant
	}
	if len(r.Without) > 0 {
		return "without " + strings.Join(r.Without, ", ")
	}
	return ""
}

// Shown are the properties that the scenario names, and the violated ones.
func (r *Row) Shown() []Property {
	var shown []Property
	for _, p := range r.Properties {
		if p.Expected != "" || p.Violated > 0 {
			shown = append(shown, p)
		}
	}
	return shown
}

// First is the first trial with the row's standing.
func (r *Row) First() Trial {
	return r.Trials[slices.IndexFunc(r.Trials, func(t Trial) bool { return t.Standing == r.Standing })]
}

// FirstViolated is the first trial with a violation and a kept history.
func (r *Row) FirstViolated() (Trial, bool) {
	for _, t := range r.Trials {
		if t.History != "" && slices.ContainsFunc(t.Judgements(),
			func(j suite.Judgement) bool { return j.Got == history.Violated }) {
			return t, true
		}
	}
	return Trial{}, false
}

// Totals counts rows by standing.
func (r *Report) Totals() map[suite.Standing]int {
	totals := map[suite.Standing]int{}
	for _, row := range r.Rows {
		totals[row.Standing]++
	}
	return totals
}

// Ran is the number of trials that were not skipped.
func (r *Report) Ran() int {
	n := 0
	for _, row := range r.Rows {
		n += len(row.Trials) - row.Counts[suite.Skipped]
	}
	return n
}

// ExitCode is the exit code of the run: a difference outranks a failure, which outranks an inconclusive row. An
// interrupted run, or one with all rows skipped, is inconclusive.
func (r *Report) ExitCode() int {
	totals := r.Totals()
	switch {
	case totals[suite.Differs] > 0:
		return ExitDiffers
	case totals[suite.HarnessError] > 0:
		return ExitFailed
	case totals[suite.Inconclusive] > 0, r.Interrupted, r.Ran() == 0:
		return ExitInconclusive
	}
	return ExitAsExpected
}
