// Package shim controls real servers' wall clocks and disks through a preloaded library (compose/shim). Build compiles
// the library; a Control is one server's control file, in shared memory.
package shim
