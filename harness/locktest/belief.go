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
	// FromCall: for a TTL from before the lock asked for the key: the earliest end,
	// and the default for leases that do not say. Of a lock on one server that is
	// when it last sent something before Acquire returned, for its own tries are
	// its own affair; of others, when Acquire was called.
	FromCall Belief = "from the call"
	// FromReturn: for a TTL from the return of Acquire, or of Extend.
	FromReturn Belief = "from the return"
	// UntilReleased: until Release, or until the lease's own context ends: for
	// locks that keep themselves extended.
	UntilReleased Belief = "until released"
)

// long is a belief without an end, in a history's nanoseconds.
const long = 1000 * time.Hour

// inWords is for reports; "" for what the lock itself says.
func (b Belief) inWords(declared bool) string {
	text := map[Belief]string{
		FromCall: "for a TTL from the call of Acquire", FromReturn: "for a TTL from the return of Acquire",
		UntilReleased: "until they release it",
	}[b]
	switch {
	case text == "":
		return ""
	case declared:
		return text + ": declared by the adapter"
	}
	return text + ": the lease does not say, and nothing else was declared"
}

// span is from when on, and for how long, a client believes.
type span struct{ called, returned, ttl time.Duration }

// until is when the belief ends, on the client's clock; not for AsTold.
func (b Belief) until(s span) time.Duration {
	switch b {
	case FromReturn:
		return s.returned + s.ttl
	case UntilReleased:
		return long
	}
	return s.called + s.ttl
}
