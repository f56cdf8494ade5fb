// Package external is about locks that are programs in any language: processes that
// speak docs/client-protocol.md on stdin and stdout. It makes of a command line a
// lock under test, and tries such a program against the protocol alone.
package external
