package checker

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/lockproof/harness/history"
)

// vacuity finds what a run lacks for a "holds" to mean anything.
type vacuity struct{ *record }

// judge turns an unearned "holds" into "vacuous". A violation stays, with the unmet precondition that makes it another
// violation than the scenario means to show.
func (v vacuity) judge(result *Result) {
	if result.Verdict == history.Violated || result.Verdict == history.Holds || result.Cause == Vacuous {
		result.Unmet = v.unmet
	}
	if result.Verdict != history.Holds {
		return
	}
	if what := cmp.Or(v.unmet, v.ineffective, v.faultWithoutEffect()); what != "" {
		result.Undecide(Vacuous, "%s", what)
		return
	}
	if missing := v.missing(result.Property); len(missing) > 0 {
		result.Undecide(Vacuous, "%s", strings.Join(missing, ", "))
	}
}

// faultWithoutEffect names the script's first fault that affected nothing; "": none. The scenario is about its effect.
// Of a schedule's random faults only a number must have an effect (see missing).
func (v vacuity) faultWithoutEffect() string {
	for _, f := range v.faults {
		if f.noEffect && !f.Background && !f.Random {
			return fmt.Sprintf("the fault %s on %s at %s affected nothing", f.Kind, f.target, formatTime(f.from))
		}
	}
	return ""
}

// missing lists what a "holds" of a property lacks.
func (v vacuity) missing(property string) []string {
	want, have := v.header.Earned, v.counts
	var missing []string
	need := func(what, several string, have, want int) {
		switch {
		case have >= want:
		case have == 0:
			missing = append(missing, "no "+what)
		default:
			missing = append(missing, fmt.Sprintf("too few %s: %d, want %d", several, have, want))
		}
	}
	grants := want.Grants
	if want.Refused == 0 { // else the scenario may be about refusals only
		grants = max(grants, 1)
	}
	need("acquire succeeded", "successful acquires", have.grants, grants)
	need("acquire overlapped another client's lease or acquire", "contended acquires", have.contended, want.Contended)
	need("fault affected a lease or an acquire", "faults that affected a lease or an acquire", have.faults, want.Faults)
	need("acquire or extension was refused", "refused acquires and extensions", have.refused, want.Refused)
	if p, _ := Find(property); p.Writes > 0 {
		need("write was acknowledged", "acknowledged writes", have.writes, max(want.Writes, 1))
	}
	return missing
}
