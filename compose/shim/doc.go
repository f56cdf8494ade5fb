// Package shim holds the C source of the preload shim, through which the
// harness sets the wall clock of a real server and sees and disturbs its fsyncs.
// The sources lie in a folder of their own, since Go would take them for cgo.
package shim
