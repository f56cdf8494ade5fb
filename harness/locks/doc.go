// Package locks defines a lock under test: anything that satisfies Lock. It has their registry; package builtin has the
// locks of every program.
package locks
