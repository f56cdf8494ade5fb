// Package reports shows the results of a run: a table for the terminal, results.json, junit.xml and summary.md, and
// each difference as a story with a drawing. It judges nothing: standings come from the suite, verdicts from the
// checker.
//
// docs/results.md describes the files.
package reports
