// Package league runs well-known Redis locks under Lockproof, each with its users' defaults. It is a module of its own,
// so that Lockproof's build needs none of them, and uses only the public API: harness/locktest.
//
// One file has one library: its adapter, its belief, its promises, and the findings with their place in its code.
// `make league` runs all of them and writes docs/locks.md and reports/published/league.
package league
