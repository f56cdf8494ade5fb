package scenarios

import (
	"fmt"
	"strings"

	"github.com/hbollon/go-edlib"
)

// suggest says what would be right in place of a name that does not exist: the
// closestName one if it is near, or all that there are. Label introduces the list:
// "the verbs are".
func suggest[T ~string](name string, candidates []T, label string) string {
	among := make([]string, len(candidates))
	for i, c := range candidates {
		among[i] = string(c)
	}
	if near := closestName(name, among); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return label + " " + strings.Join(among, ", ")
}

// closestName returns the name that most likely was meant: the one at the smallest
// edit distance, whatever the case of its letters; "" if more than a third of
// the letters are wrong. Names as short as n1 and c2 are thus never guessed.
func closestName(name string, among []string) string {
	if len(name) > maxNameLength {
		return "" // the distance takes time and memory by the lengths of both
	}
	best, bestDistance := "", len(name)+1
	for _, candidate := range among {
		allowed := max(len(name), len(candidate)) / 3
		d := edlib.OSADamerauLevenshteinDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d <= allowed && d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}
