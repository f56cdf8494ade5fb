// Package shim commands real servers' wall clocks and disks, through a library
// that is preloaded into them (compose/shim): Build compiles it, and a Control is
// the file by which one server is commanded.
package shim
