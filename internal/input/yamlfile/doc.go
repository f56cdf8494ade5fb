// Package yamlfile reads a stranger's YAML into a syntax tree, within bounds: a
// few kilobytes of it can otherwise take hours and all memory, by nesting, by
// aliases of aliases, or by what the parser is slow at.
package yamlfile
