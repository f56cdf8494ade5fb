package locktest

import "time"

// Belief is how long a client believes in a lease. Whoever wrote the lock, or
// whoever uses it, decides that: it is declared, and stands in the report.
type Belief string

// The beliefs.
const (
	// AsTold: for as long as the lease says, by Valid or Expiring. The default for
	// leases that say.
	AsTold Belief = "as told"
	// FromCall: for a TTL from before the lock asked for the key. Of a lock on one
	// server that is when it last sent a command with the key before Acquire returned,
	// for its own tries are its own affair; of others, when Acquire was called.
	FromCall Belief = "from the call"
	// FromReturn: for a TTL from the return of Acquire, or of Extend.
	FromReturn Belief = "from the return"
	// UntilReleased: until Release, or until the lease's own context ends: for
	// locks that keep themselves extended.
	UntilReleased Belief = "until released"

	// leastBelief is that of leases that do not say, where nothing was declared: as
	// FromCall, and less what is set aside for clocks that run apart. Nobody is
	// convicted of what nobody has chosen.
	leastBelief Belief = "the least"
)

// long is a belief without an end, in a history's nanoseconds.
const long = 1000 * time.Hour

// inWords is for reports; "" for what the lock itself says.
func (b Belief) inWords() string {
	const declared = ": declared by the adapter"
	switch b {
	case FromCall:
		return "for a TTL from the call of Acquire" + declared
	case FromReturn:
		return "for a TTL from the return of Acquire" + declared
	case UntilReleased:
		return "until they release it" + declared
	case leastBelief:
		return "for a TTL from the call of Acquire, less the drift of clocks: it does not say, and nothing else was declared"
	}
	return ""
}

// span is from when on, and for how long, a client believes.
type span struct {
	called, returned, ttl time.Duration
	drift                 float64 // part of the TTL that may be lost to it
}

// margin is what is lost besides, for the server counts milliseconds, as in Redlock.
const margin = 2 * time.Millisecond

// until is when the belief ends, on the client's clock; not for AsTold.
func (b Belief) until(s span) time.Duration {
	switch b {
	case FromReturn:
		return s.returned + s.ttl
	case UntilReleased:
		return long
	case leastBelief:
		return s.called + s.ttl - time.Duration(s.drift*float64(s.ttl)) - margin
	}
	return s.called + s.ttl
}
