package redlock

import (
	"fmt"
	"slices"
	"time"
)

// Rule is a precaution without which the lock is unsafe or can get stuck. Its reason and source stand beside the code
// that applies it. Options.Without switches it off, with the effect described here.
type Rule string

const (
	ElapsedCheck      Rule = "ElapsedCheck"      // off: validity counts from the replies
	DriftMargin       Rule = "DriftMargin"       // off: validity has no margin
	MonotonicClock    Rule = "MonotonicClock"    // off: time is read from Clock.Wall, which may step
	NodeTimeout       Rule = "NodeTimeout"       // off: an attempt waits for every node
	ReleaseEverywhere Rule = "ReleaseEverywhere" // off: only nodes with a known yes are released
	ReleaseAfterSet   Rule = "ReleaseAfterSet"   // off: a release is sent at once and may overtake its SET
	FreshToken        Rule = "FreshToken"        // off: one token serves all attempts of an Acquire
	RetryJitter       Rule = "RetryJitter"       // off: the delay is always the middle of the range
	Majority          Rule = "Majority"          // off: N/2 nodes are enough, but at least one
	DistinctNodes     Rule = "DistinctNodes"     // off: a server that is listed twice counts twice
	RestartGuard      Rule = "RestartGuard"      // off: package guard is not used
	CompareAndDelete  Rule = "CompareAndDelete"  // off: a release is a plain DEL
	ExtendOwnership   Rule = "ExtendOwnership"   // off: an extension is a plain PEXPIRE
	ExtendMajority    Rule = "ExtendMajority"    // off: one node is enough to confirm an extension
	BoundedExtensions Rule = "BoundedExtensions" // off: a lease is extended without limit
)

var names = []Rule{ElapsedCheck, DriftMargin, MonotonicClock, NodeTimeout, ReleaseEverywhere, ReleaseAfterSet,
	FreshToken, RetryJitter,
	Majority, DistinctNodes, RestartGuard, CompareAndDelete, ExtendOwnership, ExtendMajority, BoundedExtensions}

// RuleInfo is a rule with its reason and where it comes from.
type RuleInfo struct {
	Rule        Rule
	Why, Source string
}

var reasons = map[Rule]RuleInfo{}

func because(rule Rule, why, source string) bool {
	reasons[rule] = RuleInfo{rule, why, source}
	return true
}

func page(section string) string {
	return `redis.io, "Distributed Locks with Redis", section "` + section + `"`
}

const (
	kleppmann = `Kleppmann, "How to do distributed locking" (2016)`
	antirez   = `antirez, "Is Redlock safe?" (2016)`
)

// Package guard applies it.
var _ = because(RestartGuard,
	"A server that restarts without its keys gives the lock away a second time. Kept from voting until every lease of "+
		"before has ended, it does no harm, whoever restarted it.",
	page("Performance, crash recovery and fsync")+": delayed restarts, here seen to by the client")

// Rules lists all rules, those about time first.
func Rules() []RuleInfo {
	all := make([]RuleInfo, len(names))
	for i, name := range names {
		all[i] = reasons[name]
	}
	return all
}

// ParseRule returns the rule of that name; the error for an unknown one lists all.
func ParseRule(name string) (Rule, error) {
	if info, ok := reasons[Rule(name)]; ok {
		return info.Rule, nil
	}
	return "", fmt.Errorf("redlock: no rule named %q: the rules are %s", name, names)
}

func (r *Redlock) on(rule Rule) bool { return !slices.Contains(r.opt.Without, rule) }

// Clock is the lock's source of time.
type Clock interface {
	// monotonic, from an arbitrary origin; it must advance in suspend, as the servers' clocks do
	Now() time.Duration
	Wall() time.Time                // may step; only Without MonotonicClock reads it
	NewTimer(d time.Duration) Timer // fires once
}

// Timer is a time.Timer behind an interface.
type Timer interface {
	C() <-chan time.Time
	Stop() bool
}

// SystemClock is the machine's clock. On Linux its readings advance in suspend, but its timers do not: deadlines are
// always judged by readings.
func SystemClock() Clock { return systemClock{} }

type (
	systemClock struct{}
	systemTimer struct{ *time.Timer }
)

func (systemClock) Now() time.Duration             { return sinceBoot() }
func (systemClock) Wall() time.Time                { return time.Now() }
func (systemClock) NewTimer(d time.Duration) Timer { return systemTimer{time.NewTimer(d)} }
func (t systemTimer) C() <-chan time.Time          { return t.Timer.C }

var started = time.Now()

// sinceBoot is Go's monotonic clock where the system has no better one.
var sinceBoot = func() time.Duration { return time.Since(started) }
