// Command mutate changes a package's code, an operator at a time, runs the
// package's tests and lists the edits that no test notices.
//
// All edits are built into one test binary, and an environment variable selects one: an edit
// costs its tests, but no compilation. A first run of each test records the edits that it
// reaches; only those tests run for an edit, the quick ones first.
//
// The edits are the default ones of gremlins (github.com/go-gremlins/gremlins), which rebuilds
// the package for each edit, treats conditions of case clauses as unreachable, and counts an
// edit that does not compile as noticed.
package main
