// Package external runs locks that are programs in any language: processes that speak docs/client-protocol.md on stdin
// and stdout. It turns a command line into a lock under test, and checks such a program against the protocol alone.
package external
