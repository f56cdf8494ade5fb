package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/anishathalye/porcupine"

	"lockproof/harness/history"
)

// Check judges a history: one result for each property. Events are in the
// order of their times, as history.Read gives them.
//
// The error says that there is nothing to judge (no header, or events that
// contradict one another), or it is an *OracleDisagreement: the checker itself
// is wrong. A property that is violated is no error.
func Check(events []history.Event) (Verdict, error) { return CheckSource(InMemory(events)) }

// CheckSource is Check for a history that need not be in memory. It keeps some
// hundred bytes of each operation and of each key that a node had, and nothing
// of what else was said on the links.
// An error of the source's is one, too.
func CheckSource(source Source) (Verdict, error) {
	return check(source, oracles{mutex: ownedMutex, register: derivedRegister})
}

// oracles are the second opinions, which tests replace to see the alarm ring.
type oracles struct {
	mutex    func([]lease) porcupine.CheckResult
	register func([]access) porcupine.CheckResult
}

func check(source Source, second oracles) (Verdict, error) {
	r := newRun(source)
	if err := r.readBeliefs(); err != nil {
		return Verdict{}, err
	}
	answers := r.ask(second.mutex) // porcupine needs no more than the leases
	err := r.readRest()
	mutex := <-answers
	if err != nil {
		return Verdict{}, err
	}
	results, err := r.judge(mutex, second.register)
	if err != nil {
		return Verdict{}, err
	}
	for i := range results {
		r.earn(&results[i])
		r.distrust(&results[i])
	}
	return Verdict{Header: r.header, Results: results}, nil
}

// judge judges each property, side by side; porcupine has judged the leases.
func (r *run) judge(mutex []porcupine.CheckResult, register func([]access) porcupine.CheckResult) ([]Result, error) {
	results := make([]Result, len(history.Properties))
	errs := make([]error, len(results))
	var wg sync.WaitGroup
	for i, judge := range []func() (Result, error){
		func() (Result, error) { return r.mutualExclusion(mutex) },
		func() (Result, error) { return r.protectedData(register) },
		func() (Result, error) { return r.fencing(), nil },
		func() (Result, error) { return r.deadlockFreedom(), nil },
		func() (Result, error) { return r.faultTolerance(), nil },
	} {
		wg.Go(func() { results[i], errs[i] = judge() })
	}
	wg.Wait()
	if err := cmp.Or(errs[0], errs[1], r.failure); err != nil {
		return nil, err
	}
	return results, r.locate()
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
	result.Violations = slices.Clone(violations[:min(len(violations), maxViolations)])
	for i := range result.Violations {
		result.Violations[i].detach()
	}
	return result
}

// detach gives a violation strings of its own: a result outlives the history by
// long, and one string would keep a block of its strings alive.
func (v *Violation) detach() {
	v.Key = strings.Clone(v.Key)
	for i, name := range v.Processes {
		v.Processes[i] = strings.Clone(name)
	}
	for i := range v.Leases {
		l := &v.Leases[i]
		l.Client, l.Key, l.Token = strings.Clone(l.Client), strings.Clone(l.Key), strings.Clone(l.Token)
	}
}

// undecide turns a result into an inconclusive one. Its violations, if any,
// stay for the reader.
func (r *Result) undecide(format string, args ...any) {
	r.Verdict = history.Inconclusive
	r.Reason = fmt.Sprintf(format, args...)
}
