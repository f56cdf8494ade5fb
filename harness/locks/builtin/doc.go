// Package builtin has the locks of every program with a suite: the reference, its variants with fencing and with a
// guard, and common mistakes. Each is one file, and registers itself.
package builtin
