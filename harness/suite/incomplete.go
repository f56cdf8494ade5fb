package suite

import (
	"fmt"
	"slices"
	"strings"

	"example.org/lockproof/internal/wording"
)

// Incomplete says which slices something was merged without: their numbers, in order.
type Incomplete struct {
	Slices   int   `json:"slices"` // of how many it is
	Missing  []int `json:"missing,omitempty"`
	CutShort []int `json:"cut_short,omitempty"` // they are there, and did not get to their end
}

// FindIncomplete finds out which slices there are: found gives each slice's number, and
// whether it was cut short. nil: all are there and whole.
func FindIncomplete(count int, found map[int]bool) *Incomplete {
	m := &Incomplete{Slices: count}
	for i := 1; i <= count; i++ {
		switch cut, there := found[i]; {
		case !there:
			m.Missing = append(m.Missing, i)
		case cut:
			m.CutShort = append(m.CutShort, i)
		}
	}
	if len(m.Missing)+len(m.CutShort) == 0 {
		return nil
	}
	return m
}

// String is a sentence as "Of 100 slices, 3 and 17 to 25 are missing, and 40 was cut short".
func (m *Incomplete) String() string {
	var parts []string
	if len(m.Missing) > 0 {
		parts = append(parts, numbersAre(m.Missing, "is", "are")+" missing")
	}
	if len(m.CutShort) > 0 {
		parts = append(parts, numbersAre(m.CutShort, "was", "were")+" cut short")
	}
	return fmt.Sprintf("Of %d slices, %s", m.Slices, strings.Join(parts, ", and "))
}

// numbersAre lists numbers, with runs of them in short, and the verb that goes with them.
func numbersAre(numbers []int, one, more string) string {
	var spans []string
	for rest := slices.Clone(numbers); len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[n-1]+1 {
			n++
		}
		switch first, last := rest[0], rest[n-1]; n {
		case 1:
			spans = append(spans, fmt.Sprint(first))
		case 2:
			spans = append(spans, fmt.Sprint(first), fmt.Sprint(last))
		default:
			spans = append(spans, fmt.Sprintf("%d to %d", first, last))
		}
		rest = rest[n:]
	}
	verb := more
	if len(numbers) == 1 {
		verb = one
	}
	return wording.List(spans) + " " + verb
}
