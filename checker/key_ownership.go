package checker

// What ends a tenure.
const (
	TenureDeleted   = "deleted"            // by its owner
	TenureExpired   = "expired"            // its time to live ran out on the node's clock
	TenureForgotten = "forgotten"          // the node came back without it
	TenureFlushed   = "flushed"            // an operator removed every key
	TenureEvicted   = "evicted"            // the node made room for other data
	TenureRemoved   = "removed by another" // by the command of another client
	TenureMoved     = "moved"              // its slot went to another master of the Redis Cluster
	TenureResynced  = "resynced"           // the replica took over the state of a master that had lost it
	TenureVanished  = "vanished"           // nothing in the history explains it: an eviction, say
	TenureOpen      = "open"               // the history ended first
)

// keyOwnership is a Tenure as it is kept, with what facts tell of it.
type keyOwnership struct {
	from, until int64
	expires     int64 // when it runs out on the true clock, or never
	excused     int64 // until when it is an obstacle
	seen        int64 // when a node last showed it
	mayBeGone   int64 // since when a delete that nobody answered may have ended it, or never
	node, key   string
	owner       string
	by          string // the client whose command ended it
	token       string
	set         int32 // the event that showed it first: the reply to the SET, or a look
	ender       int32 // the event that ended it; -1 where no event did
	ended       string
	unnamed     bool // a script set it, and with which token is not known
}

// show notes that a node showed a key with a token, which may be this one.
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

func (h *keyOwnership) span() span { return span{h.from, h.until} }

// precision is how far a key's end on a node may be from where the reply to its SET puts it: a
// node counts milliseconds, and its answer travels for one. Of 185 published histories one needs
// more than none, and from 1 to 20 ms all verdicts are the same.
const precision = 2_000_000

// place is a key on a node.
type place struct{ node, key string }
