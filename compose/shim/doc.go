// Package shim embeds the C source of the preload shim, by which the harness sets a real server's wall clock and
// observes and disturbs its fsyncs. The sources have their own folder, because Go would treat them as cgo.
package shim
