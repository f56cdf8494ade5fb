// Package suite runs suites of trials: each requested scenario with its variants, for a number of trials, several at
// a time, each on its own cluster. It compares the verdicts with the scenarios' expectations. Trials in virtual time
// run in child processes if the program can start some.
package suite
