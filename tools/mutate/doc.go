// Command mutate changes a package's code, an operator at a time, runs the
// package's tests and says which edits none of them notices.
//
// All edits are built into one test binary, and the environment says which of them is
// in force: an edit costs its tests, but neither a compiler nor a linker. A first run of each
// test finds which edits it reaches; only those tests run for an edit, the quick ones first.
//
// The edits are the default ones of gremlins (github.com/go-gremlins/gremlins), which builds
// the package anew for each of them, takes the conditions of case clauses for never reached,
// and counts an edit that does not compile as noticed.
package main
