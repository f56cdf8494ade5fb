// Package inputtest holds parsers of a stranger's text to a bound on time and on
// memory, for fuzzers above all.
package inputtest
