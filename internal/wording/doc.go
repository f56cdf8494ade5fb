// Package wording writes names and quantities as sentences do: lists of names,
// durations, and what follows a quantity that may be unknown.
package wording
