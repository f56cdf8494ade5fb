package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/anishathalye/porcupine"

	"example.org/lockproof/harness/history"
)

// oracles are the second oracles.
type oracles struct {
	mutex    func([]lease) porcupine.CheckResult
	register func([]access) porcupine.CheckResult
}

// Judge reads and judges a history, as [History.Verdict] does.
func Judge(source Source) (Verdict, error) {
	h, err := Read(source)
	if err != nil {
		return Verdict{}, err
	}
	return h.Verdict()
}

// verdict judges all properties in parallel, and takes back what the run cannot prove.
func (r *record) verdict() (Verdict, error) {
	results := make([]Result, len(properties))
	errs := make([]error, len(properties))
	var wg sync.WaitGroup
	for i, p := range properties {
		wg.Go(func() { results[i], errs[i] = p.judge(r) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return Verdict{}, err
	}
	(&needsAllNodes{r}).judge(results)
	for i := range results {
		vacuity{r}.judge(&results[i])
		runHealth{r}.judge(&results[i])
	}
	return Verdict{Header: r.header, Results: results, Traffic: r.traffic}, nil
}

// OracleDisagreement reports that the two oracles of a property judge one key differently. One of them is wrong, so
// neither counts.
type OracleDisagreement struct {
	Property string
	Key      string
	// First is whether our own oracle found a violation; Second is porcupine's verdict.
	First  bool
	Second porcupine.CheckResult
}

func (d *OracleDisagreement) Error() string {
	own := "no violation"
	if d.First {
		own = "a violation"
	}
	return fmt.Sprintf("%s of key %q: our oracle finds %s, but porcupine says %s; "+
		"this is a bug of the checker: please report it with the history",
		d.Property, d.Key, own, d.Second)
}

// compareOracles compares the oracles' verdicts on one key. Unknown disagrees with nothing.
func compareOracles(property, key string, violated bool, second porcupine.CheckResult) error {
	if second == porcupine.Unknown || violated == (second == porcupine.Illegal) {
		return nil
	}
	return &OracleDisagreement{Property: property, Key: key, First: violated, Second: second}
}

// maxViolations limits a result's violations of one property; Measured["violations"] counts all of them.
const maxViolations = 100

// newResult returns a property's preliminary verdict: violated if there are violations, else holds.
func newResult(property string, violations []Violation, measured map[string]int64) Result {
	result := Result{Property: property, Verdict: history.Holds, Measured: measured}
	if len(violations) == 0 {
		return result
	}
	measured["violations"] = int64(len(violations))
	result.Verdict = history.Violated
	result.Violations = slices.Clone(violations[:min(len(violations), maxViolations)])
	for i := range result.Violations {
		if v := &result.Violations[i]; v.facts != nil {
			v.Facts, v.facts = v.facts(), nil
		}
	}
	return result
}

// Undecide makes a result inconclusive. Its violations, if any, stay for the reader.
func (r *Result) Undecide(cause Cause, format string, args ...any) {
	r.Verdict, r.Cause = history.Inconclusive, cause
	r.Reason = string(cause) + ": " + fmt.Sprintf(format, args...)
}

// EventError reports an event that contradicts others, or that cannot be judged.
type EventError struct {
	Event int // its place in the order of [history.Read], from 0
	What  string
}

func (e *EventError) Error() string { return fmt.Sprintf("event %d: %s", e.Event, e.What) }

func eventError[N int | int32](event N, format string, args ...any) error {
	return &EventError{int(event), fmt.Sprintf(format, args...)}
}
