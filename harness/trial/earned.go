package trial

import (
	"example.org/lockproof/checker"
	"example.org/lockproof/harness/history"
)

// earned is what must have happened for a "holds" to mean anything: somebody
// got the lock, somebody else wanted it at the same time, and the faults that
// the scenario speaks of met it.
func (p *Plan) earned() history.Earned {
	e := history.Earned{Grants: 1}
	if len(p.clientNames()) > 1 {
		e.Contended = 1
	}
	if p.Breaks() {
		e.Faults = 1
	}
	for _, property := range checker.Properties() {
		if _, named := p.Expect[property.Name]; named {
			e.Writes = max(e.Writes, property.Writes)
		}
	}
	for _, set := range []struct {
		to   *int
		from *int
	}{
		{&e.Grants, p.Earned.Grants}, {&e.Contended, p.Earned.Contended}, {&e.Faults, p.Earned.Faults},
		{&e.Writes, p.Earned.Writes}, {&e.Refused, p.Earned.Refused},
	} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	return e
}
