package scenarios

import (
	"fmt"
	"strings"
)

// suggest says what would be right in place of a name that does not exist: the
// nearest one if it is near, or all that there are. Label introduces the list:
// "the verbs are".
func suggest(name string, among []string, label string) string {
	if near := nearest(name, among); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return label + " " + strings.Join(among, ", ")
}

// nearest returns the name that most likely was meant: the one at the smallest
// edit distance, whatever the case of its letters; "" if more than a third of
// the letters are wrong. Names as short as n1 and c2 are thus never guessed.
func nearest(name string, among []string) string {
	best, bestDistance := "", len(name)+1
	for _, candidate := range among {
		allowed := max(len(name), len(candidate)) / 3
		d := distance(strings.ToLower(name), strings.ToLower(candidate))
		if d <= allowed && d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the Damerau-Levenshtein distance in its restricted form: how many
// letters must be put in, left out, changed or swapped with their neighbour.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 0
			if a[i-1] != b[j-1] {
				change = 1
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
