package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lockproof/harness/history"
)

// counts is what happened in a run, to tell an earned verdict from a vacuous one.
type counts struct {
	grants    int // acquires that were granted
	contended int // acquires that met another client's acquire, lease or key on a node
	faults    int // effective faults that met a lease or an acquire
	writes    int // acknowledged writes at the store
	refused   int // acquires and extends that failed
	rejected  int // writes that the store rejected, or that a client gave up
}

func (r *run) count() counts {
	c := counts{faults: r.earnedFaults()}
	for o := range r.operations.kept.all() {
		switch {
		case o.granted():
			c.grants++
		case o.op == opWrite && o.ok():
			c.writes++
		case o.op == opWrite && o.outcome == failed:
			c.rejected++
		case (o.op == opAcquire || o.op == opExtend) && o.outcome == failed:
			c.refused++
		}
	}
	met := make([]int, len(r.keys))
	sideBySide(len(r.keys), func(i int) { met[i] = r.keys[i].contended() })
	for _, n := range met {
		c.contended += n
	}
	return c
}

// earnedFaults is how many effective faults met a lease or an acquire. The
// scenario's setting does not count: it is there from the start.
func (r *run) earnedFaults() int {
	if len(r.faults) == 0 {
		return 0
	}
	var work []span
	for _, k := range r.keys {
		for _, o := range k.acquires {
			work = append(work, span{o.asked, o.done})
		}
		for _, l := range k.leases {
			work = append(work, span{l.from, l.until})
		}
	}
	work = unionOf(work)
	met := map[int]bool{} // by event: a fault on three nodes is one fault
	for _, f := range r.faults {
		if f.cause.Effective && !f.cause.Setting && f.meets(work) {
			met[f.event] = true
		}
	}
	return len(met)
}

// claim is a client's attempt on a key or its lease.
type claim struct {
	span
	client  name
	attempt bool
}

// contended counts the acquires that overlap another client's acquire, lease, or
// key on a node: a holder that is gone leaves keys that still contend.
func (k *keyed) contended() int {
	claims := k.claims(true)
	met := make([]bool, len(claims))
	meetEarlier(claims, met)
	meetLater(claims, met)
	n := 0
	for i, c := range claims {
		if c.attempt && met[i] {
			n++
		}
	}
	return n
}

// claims gives all claims on a key in the order of their beginnings; with the
// keys on the nodes, if that is asked for. Each kind is in that order already,
// but for tenures that a look found late.
func (k *keyed) claims(onNodes bool) []claim {
	asking, holding := make([]claim, len(k.acquires)), make([]claim, len(k.leases), len(k.leases)+len(k.tenures))
	for i, o := range k.acquires {
		asking[i] = claim{span{o.asked, o.done}, o.process, true}
	}
	for i, l := range k.leases {
		holding[i] = claim{span{l.from, l.until}, l.client, false}
	}
	for _, h := range k.tenures {
		if onNodes && h.owner != nobody {
			holding = append(holding, claim{span{h.from, h.until}, h.owner, false})
		}
	}
	return interleave(inOrderOfFrom(asking), inOrderOfFrom(holding))
}

func earlier(a, b claim) int { return cmp.Compare(a.from, b.from) }

func inOrderOfFrom(claims []claim) []claim {
	if !slices.IsSortedFunc(claims, earlier) {
		slices.SortStableFunc(claims, earlier)
	}
	return claims
}

// interleave merges two ordered lists; of claims that begin at once those of the
// first come first.
func interleave(first, second []claim) []claim {
	if len(second) == 0 {
		return first
	}
	merged := make([]claim, 0, len(first)+len(second))
	for len(first) > 0 && len(second) > 0 {
		if earlier(first[0], second[0]) <= 0 {
			merged, first = append(merged, first[0]), first[1:]
		} else {
			merged, second = append(merged, second[0]), second[1:]
		}
	}
	return append(append(merged, first...), second...)
}

// leaders are, of some claims, the one that lasts longest and the longest of any
// other client.
type leaders struct{ first, second claim }

// with gives the leaders when another claim comes.
func (l leaders) with(c claim) leaders {
	switch {
	case c.client == l.first.client:
		l.first.until = max(l.first.until, c.until)
	case c.until > l.first.until:
		l.first, l.second = c, l.first
	case c.client == l.second.client:
		l.second.until = max(l.second.until, c.until)
	case c.until > l.second.until:
		l.second = c
	}
	return l
}

// besides gives until when the longest claim of any client but this one lasts.
func (l leaders) besides(client name) int64 {
	if l.first.client == client {
		return l.second.until
	}
	return l.first.until
}

// noLeaders are those of no claims.
var noLeaders = leaders{claim{span: span{until: -never}}, claim{span: span{until: -never}}}

// meetEarlier marks the claims that begin during an earlier one of another
// client.
func meetEarlier(claims []claim, met []bool) {
	so := noLeaders
	for i, c := range claims {
		met[i] = met[i] || so.besides(c.client) > c.from
		so = so.with(c)
	}
}

// meetLater marks the claims during which the next claim of another client begins.
func meetLater(claims []claim, met []bool) {
	next := len(claims) // the nearest later claim of another client than claims[i]
	for i := len(claims) - 2; i >= 0; i-- {
		if claims[i+1].client != claims[i].client {
			next = i + 1
		}
		met[i] = met[i] || next < len(claims) && claims[next].from < claims[i].until
	}
}

// earn turns a "holds" that the run has not earned into "vacuous". What was
// violated stays violated, with what makes it another thing than was to be shown.
func (r *run) earn(result *Result) {
	if result.Verdict == history.Violated {
		result.Unmet = r.unmet()
	}
	if result.Verdict != history.Holds {
		return
	}
	if what := r.unmet(); what != "" {
		result.undecide(Vacuous, "%s", what)
		return
	}
	if what := r.ineffective(); what != "" {
		result.undecide(Vacuous, "%s", what)
		return
	}
	if missing := r.missing(result.Property); len(missing) > 0 {
		result.undecide(Vacuous, "%s", strings.Join(missing, ", "))
	}
}

// unmet gives the first step of the script that did not come out as it had to
// for the run to show anything, if there is one.
func (r *run) unmet() string {
	for _, e := range r.rare {
		if e.Type == history.TypeNote && e.Reason == history.ReasonUnmet {
			return e.Text
		}
	}
	return ""
}

// ineffective names the first fault that did not take effect, if any.
func (r *run) ineffective() string {
	for _, e := range r.rare {
		if e.Type == history.TypeFault && !e.Fault.Effective {
			return fmt.Sprintf("the fault %s on %s at %s did not take effect",
				e.Fault.Kind, strings.Join(e.Fault.Targets, ", "), at(e.Time))
		}
	}
	return ""
}

// missing lists what a "holds" of a property lacks.
func (r *run) missing(property string) []string {
	want, have := r.header.Earned, r.counts
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
	if property == history.ProtectedData {
		need("acknowledged writes", have.writes, max(want.Writes, 1))
	}
	return missing
}
