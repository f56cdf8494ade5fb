// Package locks is a module outside of Lockproof's whose locks are tested by it: each
// file is one library or client, and what it takes to put it to the test.
package locks
