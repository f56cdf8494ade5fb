// Package validation writes the answer to a question about an operator's files: for
// people, as JSON, and as findings for other programs.
//
// docs/validate.md describes them.
package validation
