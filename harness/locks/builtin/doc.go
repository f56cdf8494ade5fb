// Package builtin holds the locks that every program with a suite has: the reference with its
// fencing and its guard, and the mistakes that people make. Each is one file, and registers itself.
package builtin
