package main

import (
	"slices"

	"example.org/lockproof/internal/suggest"
)

// oneOf refuses a flag's value that is not one of all.
func oneOf(flag, value, what string, all []string) error {
	if slices.Contains(all, value) {
		return nil
	}
	return usage("--%s %s: there is no such %s: %s", flag, value, what, instead(value, all))
}

// instead suggests a similar name for an unknown one, or lists all names.
func instead(name string, among []string) string { return suggest.Instead(name, among, "there are") }
