// Package lock measures the reference lock beside other libraries' locks, and beside the bare commands, on real
// servers.
package lock
