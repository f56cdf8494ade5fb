// Package suite runs suites of trials: each scenario that is asked for, with its
// variants, for a number of trials, some side by side, each on a cluster of its
// own; and says how the verdicts compare with what the scenarios expect. Trials in
// virtual time run in child processes where a program can start some.
package suite
