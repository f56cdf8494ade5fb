package checker

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"example.org/lockproof/harness/history"
)

// Fencing is the name of a property.
const Fencing = "fencing"

var _ = declare(Property{
	Name:    Fencing,
	Meaning: "tokens grow strictly in the order of the grants",
	Place:   3, Tokens: true,
	judge: func(r *record) (Result, error) { return (&fencing{r}).judge(), nil },
})

// fencing: each grant has a token, no token is issued twice, and tokens grow strictly in grant order (Kleppmann 2016,
// "Making the lock safe with fencing"). A grant comes after the invocation of its acquire, and after a node received
// the first command that sets its key. It comes before its acquire returns. If two grants may have come in either
// order, their tokens need only differ.
type fencing struct{ *record }

// takingCommand is a command that sets a key, as a node received it.
type takingCommand struct {
	moment
	token string
}

// earliest is the time before which an acquire cannot have been granted. If a command with an unknown effect may have
// set its key, it is the invocation.
func (f *fencing) earliest(k *keyed, o *operation) int64 {
	if o.token == "" || f.keysUnknown != "" {
		return o.invoked
	}
	i := sort.Search(len(k.taking), func(i int) bool { return k.taking[i].time >= o.invoked })
	for _, c := range k.taking[i:] {
		if c.time > o.done {
			break
		}
		if c.process == o.process && c.token == o.token {
			return c.time
		}
	}
	return o.invoked
}

func (f *fencing) judge() Result {
	if !f.header.Fencing {
		result := Result{Property: Fencing}
		result.Undecide(Vacuous, "the lock issues no fencing tokens")
		return result
	}
	var violations []Violation
	tokens := 0
	undecided := false // tokens shrink, unless unknown commands set keys late
	for _, k := range f.keys {
		grants := granted(k.acquires)
		undecided = undecided || f.keysUnknown != "" &&
			len(f.shrinking(grants, func(o *operation) int64 { return o.done })) > 0
		tokens += len(grants)
		violations = append(violations, f.missing(grants)...)
		violations = append(violations, f.equal(grants)...)
		violations = append(violations, f.shrinking(grants, func(o *operation) int64 { return f.earliest(k, o) })...)
	}
	result := newResult(Fencing, violations, map[string]int64{"tokens": int64(tokens)})
	if result.Verdict == history.Holds && undecided {
		result.Undecide(Unknown, "%s", f.keysUnknown)
	}
	return result
}

// granted returns the granted acquires, ordered by their returns.
func granted(acquires []*operation) []*operation {
	var oks []*operation
	for _, o := range acquires {
		if o.ok() {
			oks = append(oks, o)
		}
	}
	slices.SortStableFunc(oks, func(a, b *operation) int { return cmp.Compare(a.done, b.done) })
	return oks
}

// missing finds grants without a token.
func (f *fencing) missing(grants []*operation) []Violation {
	var found []Violation
	for _, o := range grants {
		if o.fence <= 0 {
			found = append(found, Violation{
				Key: o.key, From: o.invoked, Until: o.done, Processes: []string{o.process},
				What: fmt.Sprintf("%s was granted %q at %s without a fencing token", o.process, o.key,
					formatTime(o.done)),
			})
		}
	}
	return found
}

// equal finds tokens that were issued twice.
func (f *fencing) equal(grants []*operation) []Violation {
	var found []Violation
	first := map[int64]*operation{}
	for _, o := range grants {
		if o.fence <= 0 {
			continue
		}
		before := first[o.fence]
		if before == nil {
			first[o.fence] = o
			continue
		}
		found = append(found, f.violation(before, o,
			fmt.Sprintf("%s was granted %q at %s with token %d, which %s had got at %s",
				o.process, o.key, formatTime(o.done), o.fence, before.process, formatTime(before.done))))
	}
	return found
}

// shrinking finds grants that came after the return of a grant with a higher token, each with the highest such token.
// from returns the earliest possible time of an acquire's grant.
func (f *fencing) shrinking(grants []*operation, from func(*operation) int64) []Violation {
	uses := make([]tokenUse[*operation], len(grants))
	for i, o := range grants {
		uses[i] = tokenUse[*operation]{from(o), o.done, o.fence, o}
	}
	var found []Violation
	for _, pair := range outdated(uses) {
		highest, o := pair.newest.source, pair.old.source
		found = append(found, f.violation(highest, o,
			fmt.Sprintf("%s began to acquire %q at %s and got token %d, lower than the %d that %s had got at %s",
				o.process, o.key, formatTime(pair.old.from), o.fence, highest.fence, highest.process,
				formatTime(highest.done))))
	}
	return found
}

// tokenUse is a use of a fencing token at some time in [from, until]: a grant that issues it, or an access at the store
// that shows it.
type tokenUse[T any] struct {
	from, until int64
	fence       int64 // 0: none
	source      T
}

// newerToken is a token's use after the end of a newer token's use, with the newest of these.
type newerToken[T any] struct{ newest, old tokenUse[T] }

// outdated finds all uses of tokens after a newer one, ordered by beginning.
func outdated[T any](uses []tokenUse[T]) (found []newerToken[T]) {
	ended := slices.Clone(uses)
	slices.SortStableFunc(ended, func(a, b tokenUse[T]) int { return cmp.Compare(a.until, b.until) })
	begun := slices.Clone(uses)
	slices.SortStableFunc(begun, func(a, b tokenUse[T]) int { return cmp.Compare(a.from, b.from) })
	var newest tokenUse[T]
	for _, u := range begun {
		for ; len(ended) > 0 && ended[0].until < u.from; ended = ended[1:] {
			if ended[0].fence > newest.fence {
				newest = ended[0]
			}
		}
		if 0 < u.fence && u.fence < newest.fence {
			found = append(found, newerToken[T]{newest, u})
		}
	}
	return found
}

func (f *fencing) violation(before, o *operation, what string) Violation {
	return Violation{
		Key: o.key, From: before.done, Until: o.done,
		Processes: []string{before.process, o.process}, What: what,
		facts: func() []Fact { return f.tokenFacts(before, o) },
	}
}
