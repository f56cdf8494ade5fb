package redlock

import (
	"context"
	"time"
)

// Claim is what a node is asked about.
type Claim struct {
	Key     string
	Token   string // makes the key ours. The empty one equals any: only a rule that is off asks for that
	TTL     time.Duration
	Granted bool // of an extension: this node's yes to SetIfAbsent was counted
}

// Node is one of the N independent stores. Each method is one atomic step there. After an error nobody knows
// whether the step was taken, unless it is ErrNotSent. A node that is a fmt.Stringer has a name, and no other has the
// same.
type Node interface {
	// SetIfAbsent stores the token for the TTL if there is no key, and otherwise returns the token that is
	// there. Our own was stored by an earlier sending of the same call.
	SetIfAbsent(context.Context, Claim) (absent bool, holder string, err error)
	// DeleteIfEqual deletes the key if it has the token.
	DeleteIfEqual(context.Context, Claim) (equal bool, err error)
	// ExpireIfEqual gives the key the whole TTL anew if it has the token.
	ExpireIfEqual(context.Context, Claim) (equal bool, err error)
}
