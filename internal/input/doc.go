// Package input opens what a user names, or a stranger has sent: files that may
// hold anything, or be anything. Every place that reads such a file goes through
// it, so that none hangs and none takes memory without a bound.
package input
