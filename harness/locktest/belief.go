package locktest

import "time"

// Belief is how long a client believes in a lease. Whoever wrote the lock, or
// whoever uses it, decides that: it is declared, and stands in the report.
type Belief string

// The beliefs.
const (
	// ByLease: for as long as the lease says, by Valid or Expiring. The default for
	// leases that say.
	ByLease Belief = "as told"
	// FromCall: for a TTL from before the lock asked for the key. Of a lock on one
	// server that is when it last sent a command with the key before Acquire returned,
	// for its own tries are its own affair; of others, when Acquire was called.
	FromCall Belief = "from the call"
	// FromReturn: for a TTL from the return of Acquire, or of Extend.
	FromReturn Belief = "from the return"
	// UntilReleased: until Release, or until the lease's own context ends: for
	// locks that keep themselves extended.
	UntilReleased Belief = "until released"
)

// unlimited is a belief without an end, in a history's nanoseconds.
const unlimited = 1000 * time.Hour

// description is for reports; "" for what the lock itself says.
func (b Belief) description() string {
	switch b {
	case FromCall:
		return "for a TTL from the call of Acquire"
	case FromReturn:
		return "for a TTL from the return of Acquire"
	case UntilReleased:
		return "until released"
	}
	return ""
}

// What the belief rests on.
const (
	declaredSuffix = " (declared)"
	defaultSuffix  = " (nothing else is declared)"
	renewsSuffix   = " (it renews itself)"
	contextSuffix  = " or until the lease's context ends"
)

// end is when the belief ends, on the client's clock; not for ByLease.
func (b Belief) end(called, returned, ttl time.Duration) time.Duration {
	switch b {
	case FromReturn:
		return returned + ttl
	case UntilReleased:
		return unlimited
	}
	return called + ttl
}
