// Command rename gives this repository another module path, in all that names it: go.mod files, imports, documents,
// examples and workflows. It is what `make rename MODULE=github.com/you/lockproof` calls.
package main
