package league

import (
	"context"
	"slices"
	"time"

	"example.org/lockproof/harness/locktest"
)

// Lock is one entry of the league.
type Lock struct {
	// Name is for people: the library, and how it is set up where that is not its default.
	Name string
	// Test is the subtest that runs it, and the name of its folder: a word.
	Test string
	// Module is its Go module; the version is go.mod's.
	Module string
	// Package is Debian's package of a lock in another language, Language that language, and
	// Worker the command line of its worker, from the repository's root: New is nil then.
	Package, Language, Worker string
	// Checkout is the variable that names a checkout of its repository, of one that is no package.
	Checkout string
	// On is what it runs on: one server, or several.
	On string
	// SetUp is what the adapter has chosen, in a sentence.
	SetUp string
	// Belief is how long a client believes in a lease, and who says so.
	Belief string
	// Promises are the library's own words.
	Promises []Quote
	// Findings are what is the matter with it, confirmed.
	Findings []Finding
	// New makes the lock of one client.
	New locktest.New
	// Unjudged says why it is not run, "" if it is.
	Unjudged string
	// Adapter is the file of one that is not run here, from the repository's root.
	Adapter string
	// Prepare is called once, before any client is made; nil: there is nothing to prepare.
	Prepare func()
	// Options are locktest's beside the name.
	Options []locktest.Option
	// RealTime says why it runs on real servers only, "" if it does not.
	RealTime string
	// Dials: it dials by itself, so that it is in virtual time only with lockproof test.
	Dials bool
	// Unreleased: nothing gives it back but time.
	Unreleased bool
	// Only are the scenarios that it is run in on real servers, where the others would take hours; SetUp says why.
	Only []string
	// NoExplore: it hangs for ever in many a schedule, so that exploring it shows nothing else.
	NoExplore bool
}

// What a lock runs on.
const (
	Several = "five servers"
	Single  = "one server"
)

// Quote is a text of a library's, and where it stands in its module.
type Quote struct{ Text, Place string }

// Finding is why a lock has crosses. One defect may show in several scenarios.
type Finding struct {
	// Scenarios are those in which it shows.
	Scenarios []string
	// Short is for who has ten seconds, What is what a user of the lock sees.
	Short, What string
	// Confirm are the scenarios that are tried ten times on real servers; none where that is
	// not possible, and What says why.
	Confirm []string
	// Place is the file and line in the module that it comes of.
	Place string
	// Reply is what the author may answer.
	Reply string
	// Depends says on what, if the cross rests on how the lock is used.
	Depends string
	// Hangs: the lock does not come back, so that in other scenarios, too, a row may show
	// nothing but this.
	Hangs bool
	// Report is the ready report in docs/findings, if there is one.
	Report string
}

// All are the locks in the order of the table.
func All() []Lock {
	return slices.Concat(redsyncs(), redlockGos(), rueidisLocks(), redisLocks(), goZeros(), gocrons(), machineries(),
		kvtools(), asynqs(), giteas(), eagles(), foreigners(), checkouts(), references(), unjudged())
}

// lease is one of an adapter's: what is nil it has not.
type lease struct {
	release func(context.Context) error
	token   string
}

func (l lease) Release(ctx context.Context) error { return l.release(ctx) }
func (l lease) Token() string                     { return l.token }

// timed is a lease that says until when it lasts.
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

// held is locktest's error for a lock that says no by a bool.
func held(taken bool, err error) error {
	if err == nil && !taken {
		return locktest.ErrHeld
	}
	return err
}

// within gives a context for a lock that goes on with the one that it was acquired with:
// ctx ends it only until kept is called.
func within(ctx, life context.Context) (inner context.Context, kept func() bool, cancel context.CancelFunc) {
	inner, cancel = context.WithCancel(life)
	return inner, context.AfterFunc(ctx, cancel), cancel
}

// seconds is a TTL for libraries that take whole seconds, 1 at least.
func seconds(d time.Duration) int { return int(max(time.Second, d.Round(time.Second)) / time.Second) }

// Cost is what a lock costs beside safety, as the command costs measures it.
type Cost struct {
	// Pairs is acquire and release by one caller, a second, in its best round; OfBare is that of the bare commands' on
	// as many servers.
	Pairs  float64 `json:"pairs"`
	OfBare float64 `json:"of_bare"`
	// Commands is what the servers carry out for a pair.
	Commands float64 `json:"commands"`
	// Orphans are the servers that still have the key that eight callers wanted and gave up early.
	Orphans int64 `json:"orphans"`
	// Hung is what a caller waits while one server of five hangs, "" for a lock on one.
	Hung string `json:"hung,omitempty"`
}
