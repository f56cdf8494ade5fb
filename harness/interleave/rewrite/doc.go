// Package rewrite puts points into the source of a module: see package interleave. It adds
// text within lines, so that files keep their lines.
package rewrite
