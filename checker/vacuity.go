package checker

import (
	"cmp"
	"fmt"
	"strings"

	"example.org/lockproof/harness/history"
)

// vacuity tells what a run lacks for a "holds" to mean anything.
type vacuity struct{ *analysis }

// judge turns a "holds" that the run has not earned into "vacuous". What was
// violated stays violated, with what makes it another thing than was to be shown.
func (v vacuity) judge(result *Result) {
	if result.Verdict == history.Violated {
		result.Unmet = v.unmet
	}
	if result.Verdict != history.Holds {
		return
	}
	if what := cmp.Or(v.unmet, v.ineffective, v.inVain()); what != "" {
		result.Undecide(Vacuous, "%s", what)
		return
	}
	if missing := v.missing(result.Property); len(missing) > 0 {
		result.Undecide(Vacuous, "%s", strings.Join(missing, ", "))
	}
}

// inVain names the first fault of the script that met nothing, if any: the scenario
// says what comes of it, and nothing did. Of what a schedule draws it is enough that
// so many met something.
func (v vacuity) inVain() string {
	for _, f := range v.faults {
		if v.encounters.hadNoEffect(f) && !f.cause.Background && !f.cause.Random {
			return fmt.Sprintf("the fault %s on %s at %s met nothing", f.cause.Kind, f.target, formatTime(f.from))
		}
	}
	return ""
}

// missing lists what a "holds" of a property lacks.
func (v vacuity) missing(property string) []string {
	want, have := v.header.Earned, v.counts
	var missing []string
	need := func(what string, have, want int) {
		if have < want {
			missing = append(missing, fmt.Sprintf("%s: %d of at least %d", what, have, want))
		}
	}
	grants := want.Grants
	if want.Refused == 0 { // else that nobody gets the lock may be the point
		grants = max(grants, 1)
	}
	need("grants", have.grants, grants)
	need("contended acquires", have.contended, want.Contended)
	need("faults that met a lease or an acquire", have.faults, want.Faults)
	need("refused acquires and extensions", have.refused, want.Refused)
	if p, _ := Find(property); p.Writes > 0 {
		need("acknowledged writes", have.writes, max(want.Writes, 1))
	}
	return missing
}
