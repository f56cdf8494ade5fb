// Package checker judges a history. It is pure: events in, verdicts out; no
// clock, no network, no files. It does not know which cluster a history came
// from.
package checker
