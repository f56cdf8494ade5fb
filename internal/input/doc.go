// Package input opens files from users, which may be of any kind and have any content. All reads of such files use it:
// none hangs, and none takes more memory than its limit.
package input
