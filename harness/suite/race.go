package suite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/lockproof/checker"
	"example.org/lockproof/checker/cause"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/interleave"
	"example.org/lockproof/internal/wording"
)

// allowForWaits makes each violated bound on time inconclusive if the seed drew waits of goroutines: the bound does
// not allow for them. It does if the waits are given.
func (t *Result) allowForWaits(drawn bool) {
	violated := false
	for i, r := range t.Results {
		property, _ := checker.Find(r.Property)
		if r.Verdict != history.Violated {
			continue
		}
		violated = true
		if drawn && property.Timed && len(t.Waits) > 0 {
			t.Results[i].Undecide(checker.Unknown,
				"goroutines of the library were made to wait, and a bound on time was broken (%s)",
				r.Violations[0].What)
		}
	}
	if !violated {
		t.Waits = nil
	}
}

// suspects are the violated properties, and those that allowForWaits made inconclusive.
func (t *Result) suspects() (names []string) {
	for _, r := range t.Results {
		property, _ := checker.Find(r.Property)
		if r.Verdict == history.Violated ||
			property.Timed && r.Verdict == history.Inconclusive && r.Cause == checker.Unknown {
			names = append(names, r.Property)
		}
	}
	return names
}

// raceTrials bounds the experiments about one race.
const raceTrials = 100

// settled runs a task. If goroutines of a library were made to wait, other waits decide the result: see settle. A trial
// that replaces the first one runs once more, so that its history replaces the first one's.
func (p *Pool) settled(ctx context.Context, t task) Result {
	done := p.run(ctx, t)
	if len(done.Waits) == 0 || t.Job.Waits != nil {
		return done
	}
	with := func(waits []interleave.Wait, root string) Result {
		again := t
		again.Job.Waits, again.Root = &waits, root
		return p.run(ctx, again)
	}
	answer, waits := settle(done, func(waits []interleave.Wait) Result { return with(waits, "") })
	if waits == nil || t.Root == "" {
		return answer
	}
	kept := with(*waits, t.Root)
	kept.Causes = answer.Causes
	return kept
}

// settle repeats a trial with drawn waits under other waits. A violation without any wait is not a race: the trial
// without waits is the answer. A violation with one wait alone is a race: the trial with that wait, as short as
// possible, is the answer. Otherwise done is the answer. waits are those of the answer, nil for done.
func settle(done Result, try func([]interleave.Wait) Result) (answer Result, waits *[]interleave.Wait) {
	control := try([]interleave.Wait{})
	for _, property := range done.suspects() {
		switch control.verdict(property) {
		case history.Violated:
			return control, &[]interleave.Wait{}
		case history.Holds:
			if shown, found := race(property, done.Waits, try); found {
				return shown, &[]interleave.Wait{shown.Waits[0]}
			}
		}
	}
	return done, nil
}

// race finds the one wait that a violation needs, as short as possible.
func race(property string, waits []interleave.Wait, try func([]interleave.Wait) Result) (shown Result, found bool) {
	with := func(w interleave.Wait) bool {
		tried := try([]interleave.Wait{w})
		if tried.verdict(property) != history.Violated || len(tried.Waits) != 1 {
			return false
		}
		shown = tried
		return true
	}
	last := max(0, len(waits)-raceTrials)
	for _, w := range slices.Backward(waits[last:]) {
		if found = with(w); found {
			break
		}
	}
	if !found {
		return shown, false
	}
	for half := shown.Waits[0]; half.For > time.Microsecond; half = shown.Waits[0] {
		half.For /= 2
		if !with(half) {
			break
		}
	}
	shown.Explain(causeOfRace(property, shown.Waits[0]))
	return shown, true
}

// causeOfRace describes a race: a wait at one point while other goroutines pass others.
func causeOfRace(property string, w interleave.Wait) cause.Cause {
	what := fmt.Sprintf("a race: a goroutine waits for %s at %s", wording.Duration(w.For), w.Point)
	if n := len(w.Meanwhile); n > 0 {
		what += ", and others come by at " + wording.List(slices.Compact(w.Meanwhile[max(0, n-3):]))
	}
	return cause.Cause{Property: property, Necessary: []string{what}, Kinds: []string{"race at " + w.Point}, Violated: 1,
		Seeds:       1,
		Experiments: []cause.Experiment{{Change: "without the wait", Averts: 1, Seeds: 1, Holds: true}}}
}
