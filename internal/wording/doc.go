// Package wording writes names and quantities as in sentences: lists of names, durations, and optional quantities.
package wording
