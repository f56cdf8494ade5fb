// Package league puts the Redis locks that people use through Lockproof, each with the
// defaults that its users have. It is a module of its own, so that none of them gets into
// Lockproof's build, and uses only what a stranger has: harness/locktest.
//
// One file is one library: what it takes to test it, its belief, what it promises, and
// what was found in it, with the place in its code. `make league` runs them all and
// writes docs/locks.md and reports/published/league.
package league
