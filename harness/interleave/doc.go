// Package interleave lets the goroutines of a library overtake each other, by a seed.
//
// lockproof test -interleave MODULE rewrites the module's source: before what goroutines can
// see of each other (a channel, an atomic, a mutex, a call with a context) stands a point.
// In a trial, at one point in four, the goroutine waits there for a while, as a machine might
// have it wait. The wait is drawn from the seed, the point and the instant alone, so that it
// does not depend on who comes first. No goroutine waits while it holds a mutex of the
// module: whoever waits for that would stop virtual time.
//
// Waits are log-uniform, from a nanosecond to a sixteenth of the TTL: uniform nanoseconds find
// no race, and long waits break locks that have none.
package interleave
