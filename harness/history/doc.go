// Package history is the history of a run: every event, in order, one JSON line each, all on one true clock. The
// harness writes it, the checker judges it, the reports describe it; these three do not depend on each other.
//
// docs/history.md describes the lines for readers of the files.
package history
