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

// The exit codes that a run can end with.
const (
	ExitAsExpected   = 0
	ExitDiffers      = 1
	ExitInconclusive = 4
	ExitFailed       = 3
)

// Run is what is known of a run besides its trials; results.json has it as it is.
type Run struct {
	Version string        `json:"-"` // of lockproof
	Go      string        `json:"-"` // Go's version
	Started time.Time     `json:"started"`
	Elapsed time.Duration `json:"elapsed"`
	// Planned is how many trials were to be run. Interrupted says that the run
	// was cut short, so that fewer may have been.
	Planned     int           `json:"planned"`
	Interrupted bool          `json:"interrupted,omitempty"`
	Options     suite.Options `json:"options"`
	Slice       *Slice        `json:"slice,omitempty"` // nil: the whole suite
	// Incomplete: what it was merged of was not all; nil: it was, or the run was not merged.
	Incomplete *MissingSlices `json:"incomplete,omitempty"`
	// Lock is the lock under test, if there is one.
	Lock LockUnderTest `json:"lock,omitzero"`
	// Named says that the scenarios were named one by one, and not the whole
	// catalogue run: what they show is told although it was expected.
	Named bool `json:"-"`
}

// Slice says which part of which suite a run was.
type Slice struct {
	suite.Slice
	// Suite is the whole suite's fingerprint, and Rows the names of its rows.
	Suite string   `json:"suite"`
	Rows  []string `json:"rows"`
}

// Report is a run with its trials, gathered into rows.
type Report struct {
	Run
	Rows []*Row
}

// Row is all trials of one scenario, as it stands or as one variant, on one
// cluster with one lock; results.json has it as it is.
type Row struct {
	Scenario string   `json:"scenario"`
	Variant  string   `json:"variant,omitempty"`
	Cluster  string   `json:"cluster"`
	Server   string   `json:"server,omitempty"` // of the first trial that had one
	Lock     string   `json:"lock"`
	Without  []string `json:"without,omitempty"`
	// Standing is the row's worst; Why is the reason of the first trial that stands so.
	Standing suite.Outcome `json:"standing"`
	Answer   suite.Answer  `json:"answer,omitempty"` // of a lock under test
	Why      string        `json:"why"`
	// Counts is how many trials have each standing.
	Counts     map[suite.Outcome]int `json:"counts"`
	Properties []Property            `json:"properties,omitempty"`
	// Elapsed is the real time of all trials together, Simulated the time that
	// passed on the runs' own clocks.
	Elapsed   time.Duration `json:"elapsed"`
	Simulated time.Duration `json:"simulated"`
	Trials    []Trial       `json:"trials"`

	// Findings are what is told of it, in several files: they are found once.
	Findings func() []Finding `json:"-"`

	out string // the folder that has the histories
}

// Trial is one trial with its standing.
type Trial struct {
	suite.Result
	Standing suite.Outcome `json:"standing"`
	Why      string        `json:"why"`
}

// Property is what the trials of a row say of one property.
type Property struct {
	Name     string `json:"property"`
	Expected string `json:"expected,omitempty"` // a verdict, or "" where the scenario does not name it
	// How many trials gave each verdict.
	Holds        int `json:"holds"`
	Violated     int `json:"violated"`
	Inconclusive int `json:"inconclusive"`
	// Rate is how often it was violated among the trials that decided.
	Rate Rate `json:"rate"`
}

// Verdict is the worst that any trial gave: violated, then inconclusive, then
// holds.
func (p Property) Verdict() string {
	switch {
	case p.Violated > 0:
		return history.Violated
	case p.Inconclusive > 0:
		return history.Inconclusive
	}
	return history.Holds
}

// share is how many of all trials gave the worst verdict.
func (p Property) share() (n, all int) {
	n = map[string]int{history.Holds: p.Holds, history.Violated: p.Violated,
		history.Inconclusive: p.Inconclusive}[p.Verdict()]
	return n, p.Holds + p.Violated + p.Inconclusive
}

// severity orders standings as the exit code does; a row or a run stands as
// its worst trial does.
var severity = []suite.Outcome{
	suite.Differs, suite.HarnessError, suite.LimitOfClass, suite.Inconclusive, suite.AsExpected, suite.Skipped,
}

// New gathers trials into rows, in the order in which each row's first trial
// is given, and each row's trials by their number.
func New(trials []suite.Result, run Run) *Report {
	report := &Report{Run: run}
	rows := map[string]*Row{}
	for _, t := range trials {
		id := rowID(t)
		row := rows[id]
		if row == nil {
			row = &Row{Scenario: t.Scenario, Variant: t.Variant, Cluster: t.Cluster, Lock: t.Lock, Without: t.Without,
				out: run.Options.Out}
			rows[id] = row
			report.Rows = append(report.Rows, row)
		}
		standing, why := t.Outcome()
		row.Trials = append(row.Trials, Trial{t, standing, why})
	}
	for _, row := range report.Rows {
		row.sum()
		row.Findings = sync.OnceValue(row.readFindings)
	}
	return report
}

func rowID(t suite.Result) string {
	return strings.Join([]string{t.Scenario, t.Variant, t.Cluster, t.Lock, strings.Join(t.Without, ",")}, "\x00")
}

// sum fills in what follows from the row's trials.
func (r *Row) sum() {
	slices.SortStableFunc(r.Trials, func(a, b Trial) int { return a.Trial - b.Trial })
	r.Counts = map[suite.Outcome]int{}
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
	switch j.Got {
	case history.Holds:
		p.Holds++
	case history.Violated:
		p.Violated++
	default:
		p.Inconclusive++
	}
}

// propertyRank puts known properties in their usual order, before any other.
func propertyRank(name string) int {
	if i := slices.Index(checker.Names(), name); i >= 0 {
		return i
	}
	return len(checker.Names())
}

func worst(counts map[suite.Outcome]int) suite.Outcome {
	for _, s := range severity {
		if counts[s] > 0 {
			return s
		}
	}
	return suite.Inconclusive
}

// Name is the scenario's name, and the variant's in brackets.
func (r *Row) Name() string { return nameOf(r.Scenario, r.Setting()) }

func nameOf(scenario, setting string) string {
	if setting == "" {
		return scenario
	}
	return scenario + " (" + setting + ")"
}

// Setting says in what the row differs from the scenario as it stands: the
// variant's name, or the rules that the user switched off.
func (r *Row) Setting() string {
	if r.Variant != "" {
		return r.Variant
	}
	if len(r.Without) > 0 {
		return "without " + strings.Join(r.Without, ", ")
	}
	return ""
}

// Shown are the properties that a reader asks about: those that the scenario
// names and those that were violated.
func (r *Row) Shown() []Property {
	var shown []Property
	for _, p := range r.Properties {
		if p.Expected != "" || p.Violated > 0 {
			shown = append(shown, p)
		}
	}
	return shown
}

// First is the row's first trial that stands as the row does.
func (r *Row) First() Trial {
	return r.Trials[slices.IndexFunc(r.Trials, func(t Trial) bool { return t.Standing == r.Standing })]
}

// FirstViolated is the row's first trial that violated a property, and whose history
// was kept.
func (r *Row) FirstViolated() (Trial, bool) {
	for _, t := range r.Trials {
		if t.History != "" && slices.ContainsFunc(t.Judgements(),
			func(j suite.Judgement) bool { return j.Got == history.Violated }) {
			return t, true
		}
	}
	return Trial{}, false
}

// Totals counts rows by their standing.
func (r *Report) Totals() map[suite.Outcome]int {
	totals := map[suite.Outcome]int{}
	for _, row := range r.Rows {
		totals[row.Standing]++
	}
	return totals
}

// Ran is how many trials were run: those that were skipped were not.
func (r *Report) Ran() int {
	n := 0
	for _, row := range r.Rows {
		n += len(row.Trials) - row.Counts[suite.Skipped]
	}
	return n
}

// ExitCode is the exit code of the run: what differs outranks what failed, and
// that outranks what is inconclusive. A run that was cut short, or in which
// nothing could be run, has decided nothing and is inconclusive.
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
