package league

import (
	"context"
	"slices"
	"time"

	"example.org/lockproof/harness/locktest"
)

// Lock is one entry of the league.
type Lock struct {
	// Name is for readers: the library, and its set-up unless that is the default.
	Name string
	// Test is the name of its subtest and of its folder: a word.
	Test string
	// Module is its Go module; the version is go.mod's.
	Module string
	// Package is Debian's package of a lock in another language, Language that language, and Worker its worker's
	// command line, from the repository's root: then New is nil.
	Package, Language, Worker string
	// Checkout is the variable with a checkout of its repository, for a lock without a package.
	Checkout string
	// On is one server, or several.
	On string
	// SetUp describes the adapter's choices, in a sentence.
	SetUp string
	// Belief is how long a client believes in a lease, with the source of that.
	Belief string
	// Promises are the library's own words.
	Promises []Quote
	// Findings are its confirmed defects.
	Findings []Finding
	// New makes the lock of one client.
	New locktest.New
	// Unjudged is the reason why it does not run, or "".
	Unjudged string
	// Adapter is the file of one that does not run here, from the repository's root.
	Adapter string
	// Prepare, unless nil, runs once before any client is made.
	Prepare func()
	// Options are locktest's, without the name.
	Options []locktest.Option
	// RealTime is the reason why it runs on real servers only, or "".
	RealTime string
	// Dials: it dials by itself, so that virtual time needs lockproof test.
	Dials bool
	// Unreleased: the lock has only expiry.
	Unreleased bool
	// Only are its scenarios on real servers if the others would take hours; SetUp has the reason.
	Only []string
	// NoExplore: it hangs for ever in many schedules, so that exploring shows nothing else.
	NoExplore bool
}

// The servers of a lock.
const (
	Several = "five servers"
	Single  = "one server"
)

// undeclared is the belief in a lease without a documented end.
const undeclared = "for one TTL from the request, less clock drift: nothing is documented, and this is the shortest"

// shortest returns the end of such a lease. The request is sent after now.
func shortest(env locktest.Env, ttl time.Duration) time.Time {
	return time.Now().Add(ttl - time.Duration(env.Drift*float64(ttl)))
}

// Quote is a text of a library, and its place in the module.
type Quote struct{ Text, Place string }

// Finding is the reason for a lock's crosses. One defect may show in several scenarios.
type Finding struct {
	// Scenarios show the finding.
	Scenarios []string
	// Short is for a reader in a hurry, What is the effect on a user of the lock.
	Short, What string
	// Confirm are the scenarios that run ten times on real servers; none if that is impossible, for a reason in What.
	Confirm []string
	// Place is the file and line of its cause in the module.
	Place string
	// Reply is the author's possible answer.
	Reply string
	// Depends is the condition, if the cross depends on how the lock is used.
	Depends string
	// Hangs: the lock does not return, so that other rows may show nothing but this.
	Hangs bool
	// Report is the report in docs/findings, if any.
	Report string
}

// All are the locks in the order of the table.
func All() []Lock {
	return slices.Concat(redsyncs(), redlockGos(), rueidisLocks(), redisLocks(), goZeros(), gocrons(), machineries(),
		kvtools(), asynqs(), giteas(), eagles(), otherLanguages(), checkouts(), references(), unjudged())
}

// lease is an adapter's; nil fields are unsupported.
type lease struct {
	release func(context.Context) error
	token   string
}

func (l lease) Release(ctx context.Context) error { return l.release(ctx) }
func (l lease) Token() string                     { return l.token }

// timed is a lease with a known end.
type timed struct {
	lease
	until time.Time
}

func (l timed) Until() time.Time { return l.until }

// watched is a lease whose context ends with it.
type watched struct {
	lease
	ctx context.Context
}

func (l watched) Context() context.Context { return l.ctx }

// held is locktest's error for a lock that refuses by a bool.
func held(taken bool, err error) error {
	if err == nil && !taken {
		return locktest.ErrHeld
	}
	return err
}

// within returns a context for a lock that keeps the context of its acquire: ctx ends it only until a call of kept.
func within(ctx, life context.Context) (inner context.Context, kept func() bool, cancel context.CancelFunc) {
	inner, cancel = context.WithCancel(life)
	return inner, context.AfterFunc(ctx, cancel), cancel
}

// seconds is a TTL for libraries with whole seconds, at least 1.
func seconds(d time.Duration) int { return int(max(time.Second, d.Round(time.Second)) / time.Second) }

// Cost is a lock's cost, as measured by the command costs.
type Cost struct {
	// Pairs is the rate of acquire and release by one caller, per second, in its best round; OfBare is its ratio to the
	// bare commands on as many servers.
	Pairs  float64 `json:"pairs"`
	OfBare float64 `json:"of_bare"`
	// Commands is the number of commands that the servers execute for a pair.
	Commands float64 `json:"commands"`
	// Orphans are the servers that still have the key after eight callers abandoned their attempts.
	Orphans int64 `json:"orphans"`
	// Hung is a caller's wait while one server of five hangs, "" for a lock on one server.
	Hung string `json:"hung,omitempty"`
}
