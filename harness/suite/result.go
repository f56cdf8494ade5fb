package suite

import (
	"slices"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/harness/trial"
)

// Result is the result of one trial.
type Result struct {
	Scenario string           `json:"scenario"`
	Variant  string           `json:"variant,omitempty"`
	Cluster  string           `json:"cluster"`
	Server   string           `json:"server,omitempty"` // the servers' reported name and version: redis 7.0.15
	Trial    int              `json:"trial"`
	Seed     uint64           `json:"seed"`
	Lock     string           `json:"lock"`
	Without  []string         `json:"without,omitempty"`
	Results  []checker.Result `json:"results,omitempty"`
	// Expect is the expected verdict of each property that the scenario names.
	Expect map[string]string `json:"expect,omitempty"`
	// AllowBetter: the expectations are the reference's, and this is another lock or a rule is off, so "holds" is
	// always as expected.
	AllowBetter bool `json:"lenient,omitempty"`
	// Skipped says why it did not run.
	Skipped string `json:"skipped,omitempty"`
	// Hint names the user's remedy for a skipped row; "" if there is none.
	Hint string `json:"hint,omitempty"`
	// Reference has the verdict of the reference of the lock's class, from the same seed in virtual time, on each
	// property that a lock under test violated; nil: it was not measured.
	Reference map[string]string `json:"reference,omitempty"`
	// Remedies are the changes with which that reference keeps the violated properties.
	Remedies []string `json:"remedies,omitempty"`
	// Failure says how the lock's process or the harness failed.
	Failure string `json:"failure,omitempty"`
	// Repeat is the command that runs an unexpected trial again; "" if there is none.
	Repeat string `json:"repeat,omitempty"`
	// Hung: it failed because it made no progress.
	Hung bool `json:"-"`
	// clusterLost: the cluster cannot run further trials.
	clusterLost bool
	// timedOut: it failed because the engine or a server took too long.
	timedOut bool
	// Abilities are those that the lock's leases showed; nil if it declares them.
	Abilities *locks.Abilities `json:"-"`
	// Attempts counts its runs: more than one if it ran again alone (needsRetry).
	Attempts int `json:"attempts,omitempty"`
	// History is its file, relative to the output folder, if it was kept.
	History string `json:"history,omitempty"`
	// pastLast: the operation that it interrupts has fewer messages than its plan says.
	pastLast bool
	// Message is the message at which a fault with EachMessage began, counted from 1; 0: the trial has none.
	Message int `json:"message,omitempty"`
	// Waits are the injected waits of goroutines in a library's source, of a trial with a violation.
	Waits []interleave.Wait `json:"waits,omitempty"`
	// Causes are the causes of its violations that experiments have shown.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Events is the history, if Options.Events is set; nil if it is too long.
	Events []history.Event `json:"-"`
	// Elapsed is real time; Simulated is the length of the run's own clock.
	Elapsed   time.Duration `json:"elapsed"`
	Simulated time.Duration `json:"simulated"`
}

// Name is the name of the trial's row, as Job.Name returns it.
func (t Result) Name() string { return trial.RowName(t.Scenario, t.Variant) }

// Standing compares a trial's verdicts with the expectations.
type Standing string

// The standings, which decide the exit code.
const (
	AsExpected Standing = "as expected"
	Differs    Standing = "differs"
	// LimitOfClass: the reference of the lock's class violates it, too.
	LimitOfClass Standing = "limit"
	Inconclusive Standing = "inconclusive"
	Skipped      Standing = "skipped"
	HarnessError Standing = "failed"
)

// worthKeeping reports whether a history is kept: those of all trials but the later ones whose properties hold as
// expected.
func worthKeeping(t Result) bool {
	if standing, _ := t.Standing(); t.Trial == 0 || standing != AsExpected {
		return true
	}
	for property := range t.Expect {
		if t.verdict(property) != history.Holds {
			return true
		}
	}
	return slices.ContainsFunc(checker.Names(), func(p string) bool { return t.verdict(p) == history.Violated })
}

// verdict is the trial's verdict on a property, "" if it was not judged.
func (t Result) verdict(property string) string {
	for _, r := range t.Results {
		if r.Property == property {
			return r.Verdict
		}
	}
	return ""
}

// CauseOf is the cause of a property's violation, nil without experiments.
func (t Result) CauseOf(property string) *cause.Cause {
	i := slices.IndexFunc(t.Causes, func(c cause.Cause) bool { return c.Property == property })
	if i < 0 {
		return nil
	}
	return &t.Causes[i]
}

// Explain adds a cause to the trial's, and its point of no return to the violation. A time of a run in virtual time is
// no time of a run on real servers.
func (t *Result) Explain(c cause.Cause) {
	t.Causes = append(t.Causes, c)
	if c.Virtual {
		return
	}
	for i, r := range t.Results {
		if r.Property == c.Property && len(r.Violations) > 0 {
			t.Results[i].Violations[0].PointOfNoReturn = c.PointOfNoReturn
		}
	}
}
