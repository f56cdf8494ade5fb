// Package yamlfile parses foreign YAML into a syntax tree, within limits: a few kilobytes can otherwise take hours and
// all memory, by nesting, by aliases of aliases, or by slow paths of the parser.
package yamlfile
