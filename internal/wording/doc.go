// Package wording writes names and quantities as in sentences: lists of names, durations, and optional quantities.
// It also writes the words of a command line for a shell.
package wording
