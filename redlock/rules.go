package redlock

import (
	"fmt"
	"slices"
	"strings"
)

// Rule is one thing that the lock does because it is unsafe, or can get stuck,
// without it. Without switches rules off by name.
type Rule string

// The rules. Rules gives the reason and the source of each.
const (
	// ElapsedCheck counts validity from before the first command was sent. Off,
	// it is counted from when the replies were in, for acquire and extend.
	ElapsedCheck Rule = "ElapsedCheck"
	// DriftMargin takes TTL*drift + 2 ms off the validity. Off, nothing is.
	DriftMargin Rule = "DriftMargin"
	// MonotonicClock measures on Clock.Now. Off, on Clock.Wall, which may step.
	MonotonicClock Rule = "MonotonicClock"
	// NodeTimeout ends an attempt when the node timeout has passed. Off, every
	// node is heard out, however long it takes.
	NodeTimeout Rule = "NodeTimeout"
	// ReleaseEverywhere releases on all nodes. Off, only those that are known to
	// have said yes are released.
	ReleaseEverywhere Rule = "ReleaseEverywhere"
	// ReleaseAfterSet sends a node's release after that node's SET has returned.
	// Off, it is sent at once and may overtake the SET on another connection.
	ReleaseAfterSet Rule = "ReleaseAfterSet"
	// FreshToken draws a new token for each attempt. Off, one token serves all
	// attempts of an Acquire.
	FreshToken Rule = "FreshToken"
	// RetryJitter draws the delay between attempts. Off, it is always the
	// midpoint of the range.
	RetryJitter Rule = "RetryJitter"
	// Majority needs N/2+1 nodes. Off, N/2 are enough (but at least one).
	Majority Rule = "Majority"
	// DistinctNodes refuses a server that is listed twice. Off, it counts twice.
	DistinctNodes Rule = "DistinctNodes"
	// RestartGuard keeps a server from voting until it has been up for longer than
	// any key of the lock lives; it is in force where WithRestartGuard says how long
	// that is. Off, every server votes as soon as it answers.
	RestartGuard Rule = "RestartGuard"
	// CompareAndDelete deletes a key only if it holds our token. Off, the
	// release is a plain DEL.
	CompareAndDelete Rule = "CompareAndDelete"
	// ExtendOwnership extends a key only if it holds our token. Off, the
	// extension is a plain PEXPIRE.
	ExtendOwnership Rule = "ExtendOwnership"
	// ExtendMajority needs a majority to confirm an extension. Off, one node is
	// enough.
	ExtendMajority Rule = "ExtendMajority"
	// BoundedExtensions limits how often one lease is extended. Off, there is no
	// limit.
	BoundedExtensions Rule = "BoundedExtensions"
)

// RuleInfo is a rule with its reason, one or two sentences, and where the rule
// comes from.
type RuleInfo struct {
	Rule   Rule
	Why    string
	Source string
}

// page cites the redis.io page on distributed locks by section.
func page(section string) string {
	return `redis.io, "Distributed Locks with Redis", section "` + section + `"`
}

const kleppmann = `Kleppmann, "How to do distributed locking" (2016)`
const antirez = `antirez, "Is Redlock safe?" (2016)`

var rules = []RuleInfo{
	{ElapsedCheck,
		"The keys began to expire when the nodes set them, not when their replies were read; replies that were " +
			"slow, or a client that was paused before it read them, have used up validity.",
		page("The Redlock Algorithm") + ", steps 1, 3 and 4; the point on which " + antirez + " answers " + kleppmann},
	{DriftMargin,
		"The client's clock may run slower than a server's, and servers count in whole milliseconds: a lease must " +
			"end on the client before the first of its keys expires.",
		page("Safety arguments") + ": MIN_VALIDITY = TTL - (T2 - T1) - CLOCK_DRIFT"},
	{MonotonicClock,
		"A wall clock that is set back in mid-acquire hides the time that has passed and makes the client believe " +
			"in a lease that is over. The monotonic clock must not stop in suspend either: the servers' clocks do not.",
		antirez + ", on clocks; the sources of lock libraries that read the wall clock"},
	{NodeTimeout,
		"A hung node must not hold up an attempt that the other nodes can decide. go-redis ignores context " +
			"deadlines while it reads unless ContextTimeoutEnabled is set, so the limit is enforced here.",
		page("The Redlock Algorithm") + ", step 2; measured: one hung node of five made a lock of 4 s fail after 20 s"},
	{ReleaseEverywhere,
		"A node whose reply was lost may have set the key all the same; if it is not released, nobody can have " +
			"that node until the TTL has passed.",
		page("The Redlock Algorithm") + ", step 5, and section \"Releasing the lock\""},
	{ReleaseAfterSet,
		"Two connections keep no order between them: a release that overtakes its own SET deletes nothing, and " +
			"the SET then leaves a key without an owner for a whole TTL.",
		"measured: returning at majority without this left hundreds of orphaned keys in three seconds, with no fault at all"},
	{FreshToken,
		"A release of an earlier attempt that was held up in the network would match, and delete, the key of a " +
			"later attempt that uses the same token.",
		page("Correct implementation with a single instance") +
			": the value must be unique across all clients and all lock requests; measured for retries with one token"},
	{RetryJitter,
		"Clients that failed together and retry together split the nodes again and again, and nobody wins.",
		page("Retry on failure")},
	{Majority,
		"Any two majorities share a node, and that node lets only one of two clients in; two halves of an even number share none.",
		page("Safety arguments") + "; measured with two of four nodes"},
	{DistinctNodes,
		"A server that is listed twice votes twice, so that a majority of the list need not be a majority of the servers.",
		page("The Redlock Algorithm") + ": N independent masters; measured"},
	{RestartGuard,
		"A server that restarts without its keys gives the lock away a second time. Kept from voting until every lease of " +
			"before has ended, it does no harm, whoever restarted it.",
		page("Performance, crash recovery and fsync") + ": delayed restarts, here seen to by the client"},
	{CompareAndDelete,
		"After its lease has expired, the key may be another client's; a plain DEL deletes that client's lock.",
		page("Correct implementation with a single instance")},
	{ExtendOwnership,
		"After its lease has expired, the key may be another client's; to prolong it proves nothing about our own lease.",
		page("Making the algorithm more reliable: Extending the lock") + ": if its value is still the one that the client assigned"},
	{ExtendMajority,
		"Where only a minority of keys was prolonged, the majority expires and another client acquires it.",
		page("Making the algorithm more reliable: Extending the lock") +
			": in the majority of the instances, and within the validity time"},
	{BoundedExtensions,
		"A worker that hangs while its watchdog goes on extending would keep the lock for ever.",
		page("Making the algorithm more reliable: Extending the lock") +
			": the number of attempts should be limited, otherwise a liveness property is violated"},
}

// Rules lists all rules, those about time first.
func Rules() []RuleInfo { return slices.Clone(rules) }

// ParseRule returns the rule of that name. Names are case-sensitive; the error
// for an unknown one lists all.
func ParseRule(name string) (Rule, error) {
	names := make([]string, len(rules))
	for i, info := range rules {
		names[i] = string(info.Rule)
		if names[i] == name {
			return info.Rule, nil
		}
	}
	return "", fmt.Errorf("redlock: no rule named %q: the rules are %s", name, strings.Join(names, ", "))
}
