package main

import (
	"slices"

	"example.org/lockproof/internal/suggest"
)

// oneOf refuses a flag's value that is none of those there are.
func oneOf(flag, value, what string, all []string) error {
	if slices.Contains(all, value) {
		return nil
	}
	return usage("--%s %s: there is no such %s: %s", flag, value, what, instead(value, all))
}

// instead says what may have been meant by a name that does not exist, or all that there are.
func instead(name string, among []string) string { return suggest.Instead(name, among, "there are") }
