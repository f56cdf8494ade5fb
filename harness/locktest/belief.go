package locktest

import "time"

// Belief is how long a client relies on a lease. The lock's author or its user decides that; the report shows it.
type Belief string

// The beliefs.
const (
	// ByLease: until the end that the lease reports by Valid or Expiring; the default for such leases.
	ByLease Belief = "as told"
	// FromCall: for a TTL from the request. A lock on several servers requests when Acquire is called. A lock on one
	// server requests when it sends the last command with the key before Acquire returns, since it may retry inside
	// Acquire.
	FromCall Belief = "from the call"
	// FromReturn: for a TTL from the return of Acquire or Extend; the default for leases that report no end.
	FromReturn Belief = "from the return"
	// UntilReleased: until Release, or until the lease's own context ends; the default for locks that extend their
	// leases themselves and for a Contextual lease.
	UntilReleased Belief = "until released"
)

// unlimited stands for no end, and fits a history's nanoseconds.
const unlimited = 1000 * time.Hour

// description is for reports; "" for ByLease.
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

// The reasons of a belief.
const (
	declaredSuffix = " (declared)"
	defaultSuffix  = " (nothing else is declared)"
	renewsSuffix   = " (it renews itself)"
	contextSuffix  = " or until the lease's context ends"
)

// undeclared is the text of the belief in a lock that declares nothing and does not renew itself.
func undeclared() string { return FromReturn.description() + defaultSuffix }

// end is on the client's clock; not for ByLease.
func (b Belief) end(called, returned, ttl time.Duration) time.Duration {
	switch b {
	case FromReturn:
		return returned + ttl
	case UntilReleased:
		return unlimited
	}
	return called + ttl
}
