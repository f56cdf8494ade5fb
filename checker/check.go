package checker

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"lockproof/harness/history"
)

// Check judges a history: one result for each property. Events are in the
// order of their times, as history.Read gives them.
//
// The error says that there is nothing to judge (no header, or events that
// contradict one another), or it is an *OracleDisagreement: the checker itself
// is wrong. A property that is violated is no error.
func Check(events []history.Event) (Verdict, error) {
	return check(events, oracles{mutex: ownedMutex, register: derivedRegister})
}

// oracles are the second opinions, which tests replace to see the alarm ring.
type oracles struct {
	mutex    func([]Lease) porcupine.CheckResult
	register func([]access) porcupine.CheckResult
}

func check(events []history.Event, second oracles) (Verdict, error) {
	r, err := digest(events)
	if err != nil {
		return Verdict{}, err
	}
	mutex, err := r.mutualExclusion(second.mutex)
	if err != nil {
		return Verdict{}, err
	}
	data, err := r.protectedData(second.register)
	if err != nil {
		return Verdict{}, err
	}
	results := []Result{mutex, data, r.fencing(), r.deadlockFreedom(), r.faultTolerance()}
	for i := range results {
		r.earn(&results[i])
		r.distrust(&results[i])
	}
	return Verdict{Header: r.header, Results: results}, nil
}

// OracleDisagreement says that the two oracles for one property judged the
// same key differently. One of them is wrong, so neither is believed.
type OracleDisagreement struct {
	Property string
	Key      string
	// First is whether our own oracle found a violation; Second is porcupine's
	// answer.
	First  bool
	Second porcupine.CheckResult
}

func (d *OracleDisagreement) Error() string {
	own := "no violation"
	if d.First {
		own = "a violation"
	}
	return fmt.Sprintf("%s of key %q: our oracle finds %s, but porcupine says %s; this is a bug of the checker: please report it with the history",
		d.Property, d.Key, own, d.Second)
}

// agree compares the oracles' answers on one key. An unknown is no answer.
func agree(property, key string, violated bool, second porcupine.CheckResult) error {
	if second == porcupine.Unknown || violated == (second == porcupine.Illegal) {
		return nil
	}
	return &OracleDisagreement{Property: property, Key: key, First: violated, Second: second}
}

// maxViolations is how many violations of one property a result spells out;
// Measured["violations"] counts all of them.
const maxViolations = 100

// settle gives a property's first verdict from its violations.
func settle(property string, violations []Violation, measured map[string]int64) Result {
	result := Result{Property: property, Verdict: history.Holds, Measured: measured}
	if len(violations) == 0 {
		return result
	}
	measured["violations"] = int64(len(violations))
	result.Verdict = history.Violated
	result.Violations = violations[:min(len(violations), maxViolations)]
	return result
}

// undecide turns a result into an inconclusive one. Its violations, if any,
// stay for the reader.
func (r *Result) undecide(format string, args ...any) {
	r.Verdict = history.Inconclusive
	r.Reason = fmt.Sprintf(format, args...)
}
