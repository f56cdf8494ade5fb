// Package reports tells what came of a run: as a table for the terminal, as
// results.json, junit.xml and summary.md for machines and people, and each
// difference as a story with a drawing. It judges nothing itself: standings
// come from the suite, verdicts from the checker.
//
// docs/results.md describes the files.
package reports
