// Package interleave changes the order of a library's goroutines, by a seed.
//
// lockproof test -interleave MODULE rewrites the module's source: it adds a point before each operation that other
// goroutines can see (a channel, an atomic, a mutex, a call with a context). In a trial, a goroutine waits at one point
// in four, as on a busy machine. The wait depends only on the seed, the point and the instant, and so not on the order
// of arrival. No goroutine waits while it holds a mutex of the module: another one that waits for the mutex would stop
// virtual time.
//
// Waits are log-uniform, from a nanosecond to a sixteenth of the TTL: uniform nanoseconds find no race, and long waits
// break correct locks.
package interleave
