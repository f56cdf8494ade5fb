// Package validation writes the answer about an operator's files: for people, as JSON,
// and as findings for other programs.
//
// docs/validate.md describes the formats.
package validation
