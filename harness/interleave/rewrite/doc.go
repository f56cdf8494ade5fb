// Package rewrite adds points to the source of a module: see package interleave. It adds text within lines, so that
// line numbers stay.
package rewrite
