// Package lock measures the reference lock beside other libraries' locks, and
// beside the same commands with no lock around them, on real servers.
package lock
