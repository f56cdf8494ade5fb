// Package figures is what benchmarks say: figures with their spread, in rows
// and sections, and the targets that they are held against; as a table for a
// reader and as JSON for a program.
package figures
