package redlock

import (
	"context"
	"time"
)

// Claim is one client's claim to a key.
type Claim struct {
	Key     string
	Token   string // marks the owner. An empty one matches any token: only a rule that is off sends it
	TTL     time.Duration
	Granted bool // of an extension: this node's yes to SetIfAbsent was counted
}

// Node is one of the N independent stores. Each method is one atomic step there. After an error other than ErrNotSent
// it is unknown whether the step took effect. A node that is a fmt.Stringer has a unique name.
type Node interface {
	// SetIfAbsent stores the token for the TTL if the key is absent, and otherwise returns the stored token. Our own
	// was stored by an earlier transmission of the same call.
	SetIfAbsent(context.Context, Claim) (absent bool, holder string, err error)
	// DeleteIfEqual deletes the key if it has the token.
	DeleteIfEqual(context.Context, Claim) (equal bool, err error)
	// ExpireIfEqual renews the key for the whole TTL if it has the token.
	ExpireIfEqual(context.Context, Claim) (equal bool, err error)
}
