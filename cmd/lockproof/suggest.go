package main

import (
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"
)

// oneOf refuses a flag's value that is none of those there are.
func oneOf(flag, value, what string, all []string) error {
	if slices.Contains(all, value) {
		return nil
	}
	return usage("--%s %s: there is no such %s: %s", flag, value, what, suggest(value, all))
}

// suggest says what may have been meant by a name that does not exist: the
// names that begin so, the nearest names, or else all that there are.
func suggest(name string, among []string) string {
	var near []string
	for _, candidate := range among {
		if len(name) > 2 && strings.HasPrefix(candidate, name) {
			near = append(near, candidate)
		}
	}
	if len(near) == 0 {
		near = nearest(name, among)
	}
	if len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "there are " + strings.Join(among, ", ")
}

// nearest are the names at the smallest distance, if it is a small one.
func nearest(name string, among []string) []string {
	var near []string
	least := max(2, len(name)/3)
	for _, candidate := range among {
		d := edlib.OSADamerauLevenshteinDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d < least {
			near, least = nil, d
		}
		if d == least {
			near = append(near, candidate)
		}
	}
	return near
}
