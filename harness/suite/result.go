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

// Result is one run of one scenario and what came of it.
type Result struct {
	Scenario string           `json:"scenario"`
	Variant  string           `json:"variant,omitempty"`
	Cluster  string           `json:"cluster"`
	Server   string           `json:"server,omitempty"` // the servers' name and version, as they told it: redis 7.0.15
	Trial    int              `json:"trial"`
	Seed     uint64           `json:"seed"`
	Lock     string           `json:"lock"`
	Without  []string         `json:"without,omitempty"`
	Results  []checker.Result `json:"results,omitempty"`
	// Expect is the verdict that was expected for each property that the
	// scenario names.
	Expect map[string]string `json:"expect,omitempty"`
	// Lenient: the expectations are the reference's, and this is another lock
	// or a rule is off; a better verdict than expected is as expected.
	AllowBetter bool `json:"lenient,omitempty"`
	// Skipped says why it was not run.
	Skipped string `json:"skipped,omitempty"`
	// Hint says what the user can do so that a row that was skipped is run; "" where nothing helps.
	Hint string `json:"hint,omitempty"`
	// Reference has the verdict of the reference of the lock's class, from the same seed in virtual time, on each
	// property that a lock under test violated; nil: it was not measured.
	Reference map[string]string `json:"reference,omitempty"`
	// Remedies are the changes with which that reference keeps what is violated otherwise.
	Remedies []string `json:"remedies,omitempty"`
	// Failure says how the harness itself failed.
	Failure string `json:"failure,omitempty"`
	// Repeat is the command that runs the trial again, of one that is not as expected;
	// "" where there is none.
	Repeat string `json:"repeat,omitempty"`
	// Hung: it failed because it made no progress any more.
	Hung bool `json:"-"`
	// clusterLost: the cluster can run no other.
	clusterLost bool
	// timedOut: it failed because the engine or a server took too long.
	timedOut bool
	// Abilities is what the lock can do, where it was for a lease to show.
	Abilities *locks.Abilities `json:"-"`
	// Attempts is how many runs it took, more than one where the harness was held up, or the engine took too long.
	Attempts int `json:"attempts,omitempty"`
	// History is the file, relative to the output folder, if it was kept.
	History string `json:"history,omitempty"`
	// Waits are those of goroutines at points of a library's source, of a trial that violates something.
	Waits []interleave.Wait `json:"waits,omitempty"`
	// Causes are what experiments have shown of its violations, where they were asked for.
	Causes []cause.Cause `json:"causes,omitempty"`
	// Events are those of the history, in its order, where Options ask for them; nil if
	// there are too many.
	Events []history.Event `json:"-"`
	// Elapsed is real time; Simulated is the length of the run's own clock.
	Elapsed   time.Duration `json:"elapsed"`
	Simulated time.Duration `json:"simulated"`
}

// dropDetails leaves of what is not violated the verdict and its cause, and why it is unknown.
func (t *Result) dropDetails() {
	for i, r := range t.Results {
		if r.Verdict == history.Violated {
			continue
		}
		t.Results[i] = checker.Result{Property: r.Property, Verdict: r.Verdict, Cause: r.Cause}
		if r.Cause != checker.Vacuous {
			t.Results[i].Reason = r.Reason
		}
	}
}

// Name is that of the trial's row, as Job.Name gives it.
func (t Result) Name() string { return trial.RowName(t.Scenario, t.Variant) }

// Outcome is how a trial's verdicts compare with what was expected.
type Outcome string

// The standings, as they decide the exit code.
const (
	AsExpected Outcome = "as expected"
	Differs    Outcome = "differs"
	// LimitOfClass: violated, and so it is for the reference of the lock's class.
	LimitOfClass Outcome = "limit"
	Inconclusive Outcome = "inconclusive"
	Skipped      Outcome = "skipped"
	HarnessError Outcome = "failed"
)

// worthKeeping: everything but a trial whose properties all hold, as they
// should, and of those the first, to look at.
func worthKeeping(t Result) bool {
	if standing, _ := t.Outcome(); t.Trial == 0 || standing != AsExpected {
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

// CauseOf is what experiments have shown of the violation of a property, nil where none were made.
func (t Result) CauseOf(property string) *cause.Cause {
	i := slices.IndexFunc(t.Causes, func(c cause.Cause) bool { return c.Property == property })
	if i < 0 {
		return nil
	}
	return &t.Causes[i]
}

// Explain adds a cause to the trial's, and its point of no return to the violation.
func (t *Result) Explain(c cause.Cause) {
	t.Causes = append(t.Causes, c)
	for i, r := range t.Results {
		if r.Property == c.Property && len(r.Violations) > 0 {
			t.Results[i].Violations[0].PointOfNoReturn = c.PointOfNoReturn
		}
	}
}
