// Package locks is a module outside of Lockproof, with tests of locks: each file has one library or client, and the
// adapter to test it.
package locks
