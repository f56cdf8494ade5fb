package suggest

import (
	"strings"

	"github.com/hbollon/go-edlib"
)

// longest bounds a name: the cost of the distance grows with the lengths of both.
const longest = 100

// Names returns the names with this prefix, or else those at the smallest edit distance, ignoring case. It returns none
// if more than a third of the letters differ: names as short as n1 and c2 are never guessed.
func Names(name string, among []string) (near []string) {
	if len(name) > longest {
		return nil
	}
	for _, candidate := range among {
		if len(name) > 2 && strings.HasPrefix(candidate, name) {
			near = append(near, candidate)
		}
	}
	if len(near) > 0 {
		return near
	}
	least := len(name) + 1
	for _, candidate := range among {
		d := edlib.OSADamerauLevenshteinDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d > max(len(name), len(candidate))/3 || d > least {
			continue
		}
		if d < least {
			near, least = nil, d
		}
		near = append(near, candidate)
	}
	return near
}
