// Package figures has the results of benchmarks: figures with their spread, in rows and sections, and their targets; as
// a table for readers and as JSON for programs.
package figures
