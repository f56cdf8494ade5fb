package checker

// The ends of an ownership.
const (
	OwnershipDeleted   = "deleted"            // by its owner
	OwnershipExpired   = "expired"            // its time to live ran out on the node's clock
	OwnershipForgotten = "forgotten"          // the node restarted without it
	OwnershipFlushed   = "flushed"            // an operator removed it
	OwnershipEvicted   = "evicted"            // the node made room for other data
	OwnershipRemoved   = "removed by another" // by the command of another client
	OwnershipMoved     = "moved"              // its slot went to another master of the Redis Cluster
	OwnershipResynced  = "resynced"           // the replica took over the state of a master that had lost it
	OwnershipVanished  = "vanished"           // no event explains it; an eviction, for example
	OwnershipOpen      = "open"               // the history ended first
)

// keyOwnership is an Ownership with data that facts and judges need.
type keyOwnership struct {
	span
	place
	expires    int64 // when it expires on the true clock, or never
	excused    int64 // end of its time as an obstacle
	seen       int64 // when a node last showed it
	mayBeGone  int64 // when an unanswered delete may have ended it, or never
	owner      string
	by         string // the client whose command ended it
	token      string
	set        int32 // the event that showed it first, such as the reply to the SET, or a look
	ender      int32 // the event that ended it; -1: none
	ended      string
	unnamed    bool // a script set it, with an unknown token
	overwrites bool // it took the place of another client's key, which a SET must not do
}

// show records the token that a node showed at the key, and reports whether it is this ownership's.
func (h *keyOwnership) show(token string, now int64) bool {
	if h.unnamed {
		h.token, h.unnamed = token, false
	}
	if h.token != token {
		return false
	}
	h.seen = now
	return true
}

// precision is how far a key's end on a node may be from where the reply to its SET puts it: a node counts
// milliseconds, and its reply travels for one. Of 185 published histories one needs more than 0, and from 1 to 20 ms
// all verdicts are the same.
const precision = 2_000_000

// place is a key on a node.
type place struct{ node, key string }
