package explore

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"example.org/lockproof/harness/suite"
)

// Merge makes one of the slices of a search: what one machine would have come to, but
// that its time is that of all of them together. names are for errors, as folders' are.
// Slices that are missing, or did not get to their end, are named in what it gives.
func Merge(parts []Results, names []string) (Results, error) {
	if len(parts) == 0 {
		return Results{}, errors.New("there is nothing to merge")
	}
	if err := checkSameSearch(parts, names); err != nil {
		return Results{}, err
	}
	found := map[int]bool{}
	whole := parts[0]
	whole.Slice = suite.Slice{}
	whole.Tally = Tally{Verdicts: map[string]map[string]int{}, Next: whole.Schedules}
	for _, p := range parts {
		search := Search{Question: p.Question}
		found[p.Slice.Index] = search.Remaining(p.Tally)
		whole.Tally.add(p.Tally)
	}
	t := &whole.Tally
	slices.SortFunc(t.Finds, func(a, b Find) int { return cmp.Compare(a.Number, b.Number) })
	slices.SortFunc(t.Failed, func(a, b Failed) int { return cmp.Compare(a.Number, b.Number) })
	t.Failed = t.Failed[:min(len(t.Failed), maxFailed)]
	whole.Incomplete = suite.FindIncomplete(parts[0].Slice.Count, found)
	return whole, nil
}

// checkSameSearch says what keeps parts from being slices of one search.
func checkSameSearch(parts []Results, names []string) error {
	first := parts[0]
	by := map[int]string{}
	for i, p := range parts {
		switch {
		case p.Slice.Count == 0:
			return fmt.Errorf("%s is a whole search and no slice", names[i])
		case p.Version != first.Version:
			return fmt.Errorf("%s and %s are not slices of one search: version %s and %s of lockproof",
				names[0], names[i], first.Version, p.Version)
		case p.Slice.Count != first.Slice.Count || p.Schedules != first.Schedules || p.Enough != first.Enough ||
			!p.whole().same(first.whole()):
			return fmt.Errorf("%s and %s are not slices of one search: they were asked for something else", names[0], names[i])
		case by[p.Slice.Index] != "":
			return fmt.Errorf("slice %s is there more than once: %s and %s", p.Slice, by[p.Slice.Index], names[i])
		}
		by[p.Slice.Index] = names[i]
	}
	return nil
}

// whole is a slice's question without its slice.
func (q Question) whole() Question {
	q.Slice = suite.Slice{}
	return q
}

// add counts what another part of the search has come to. Of a breach that both show,
// the schedule with the lower number is the one that one machine would have found.
func (t *Tally) add(other Tally) {
	t.Schedules += other.Schedules
	t.Refused, t.Why = t.Refused+other.Refused, cmp.Or(t.Why, other.Why)
	t.Elapsed += other.Elapsed
	t.Failed = append(t.Failed, other.Failed...)
	for property, counts := range other.Verdicts {
		for verdict, n := range counts {
			t.count(property, verdict, n)
		}
	}
	for _, f := range other.Finds {
		i := slices.IndexFunc(t.Finds, func(known Find) bool { return known.FindID == f.FindID })
		if i < 0 {
			t.Finds = append(t.Finds, f)
			continue
		}
		times := t.Finds[i].Times + f.Times
		if f.Number < t.Finds[i].Number {
			t.Finds[i] = f
		}
		t.Finds[i].Times = times
	}
}
