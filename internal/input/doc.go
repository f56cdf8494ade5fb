// Package input opens files from users, which may be of any kind and have any content. All reads of such files use it,
// so that none hangs and none uses unbounded memory.
package input
