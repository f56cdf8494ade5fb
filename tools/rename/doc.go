// Command rename changes this repository's module path in go.mod files, imports, documents, examples and workflows.
// `make rename MODULE=github.com/you/lockproof` calls it.
package main
