// Package scenarios is the catalogue of failures, one YAML file each, and the
// strict loader for them and for a user's own files. docs/scenarios.md is the
// format's reference.
package scenarios
