package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
	"example.org/lockproof/scenarios"
)

// preflight acquires and releases the lock with one client and no faults. The second lease lasts longer than a TTL,
// to detect a lock that renews its key by itself. The third is not released: a lease's goroutines must end with its
// client, too.
const preflight = `
name: preflight
title: One client gets the lock and gives it back
source: lockproof
lesson: What a lock can do is seen by its first lease.
clients: [c1]
nodes: %d
script:
  - acquire: c1
    must: ok
%s  - release: c1
  - acquire: c1
    must: ok
  - wait: 1.2 ttl
  - release: c1
  - acquire: c1
expect: {mutual-exclusion: holds}
`

// preflightNodes is the number of servers if the lock does not name one.
const preflightNodes = 5

const preflightExtend = "  - extend: c1\n"

// Preflight acquires, releases and, if the lock is known to extend, extends the lock of the options. It returns the
// abilities that the leases show. After an error no row is worth a run. run runs the trial.
func Preflight(ctx context.Context, o Options,
	run func(context.Context, Job, Options) (Result, error)) (*locks.Abilities, error) {
	kind, err := locks.Find(o.Lock)
	if err != nil {
		return nil, err
	}
	nodes, extend := cmp.Or(kind.Servers, preflightNodes), ""
	if kind.SingleNode {
		nodes = 1
	}
	if kind.Extends {
		extend = preflightExtend
	}
	s, err := scenarios.Parse("", fmt.Appendf(nil, preflight, nodes, extend))
	if err != nil {
		return nil, err
	}
	o.Trials, o.Events = 1, true
	done, err := run(ctx, Job{Scenario: s, Lock: o.Lock}, o)
	switch {
	case err != nil:
		return nil, err
	case done.Failure != "":
		return nil, fmt.Errorf("the lock fails with nothing in its way: %s", done.Failure)
	case done.Skipped != "":
		return nil, fmt.Errorf("the lock cannot be tried: %s", done.Skipped)
	}
	found := &locks.Abilities{}
	if done.Abilities != nil {
		*found = *done.Abilities
	}
	if found.Renews, err = checkPreflight(done.Events); err == nil && !found.Renews {
		err = expiresEarly(done.Events)
	}
	declared := slices.DeleteFunc(slices.Concat(found.Keys, kind.Keys),
		func(name string) bool { return name == locks.KeyPlaceholder })
	if names := unlikeOthers(done.Events); len(names) > 0 && len(declared) == 0 {
		found.Notices = append(found.Notices, fmt.Sprintf("it sets %q, which does not contain the caller's key: if it "+
			"depends on the key, declare it by Keys; if not, all keys are one lock", names))
	}
	return found, err
}

// sentKey is a key that a client set over a link.
type sentKey struct {
	history.Link
	key string
}

// ErrExpiresEarly: the lock's key expires before its lease ends.
var ErrExpiresEarly = errors.New("the lock's key expires before its lease ends, with nothing in its way")

// expiresEarly compares each lease's validity with the expiry that its acquire gave its keys. Of several keys, the
// last to expire counts.
func expiresEarly(events []history.Event) error {
	var key string
	var last int64 // -1: unknown, or never
	for _, e := range events {
		switch c := e.Command; {
		case e.Op == history.OpAcquire && e.Type == history.TypeInvoke:
			key, last = "", 0
		case e.Type == history.TypeReply && c != nil && c.Done && c.Expiry > last && last >= 0:
			key, last = c.Key, c.Expiry
		case e.Type == history.TypeReply && c != nil &&
			(c.MayChange() || c.Done && c.Effect == history.EffectSet && c.Expiry == 0):
			last = -1
		case e.Op == history.OpAcquire && e.Type == history.TypeOK && last > 0 && e.Validity > last:
			return fmt.Errorf("%w: %q expires %s after it is set, and its lease is valid for %s", ErrExpiresEarly, key,
				time.Duration(last), time.Duration(e.Validity))
		}
	}
	return nil
}

// unlikeOthers names the keys that acquires set, if none contains the caller's key: other keys may be the same lock.
func unlikeOthers(events []history.Event) (names []string) {
	caller := ""
	for _, e := range events {
		if e.Op == history.OpAcquire {
			caller = e.Key
		}
		if c := e.Command; e.Type == history.TypeReply && c != nil && c.Done && c.Effect == history.EffectSet {
			if strings.Contains(c.Key, caller) {
				return nil
			}
			names = append(names, c.Key)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkPreflight returns the call that failed in a preflight as an error. renews reports whether the lock extended
// its key by itself.
func checkPreflight(events []history.Event) (renews bool, err error) {
	calls := map[history.Op]string{history.OpAcquire: "was not granted", history.OpExtend: "was not extended",
		history.OpRelease: "was not released"}
	leases, alone := 0, false // with the second lease
	set := map[sentKey]bool{} // since the latest acquire began
	for _, e := range events {
		switch {
		case e.Type == history.TypeNote && e.Reason == history.ReasonPreconditionFailed:
			return false, fmt.Errorf("with nothing in the lock's way and nobody else, %s", e.Text)
		case e.Op == history.OpRelease && e.Reason == history.ReasonRefused: // its leases end by expiry only
			alone = false
		case failed(e) && calls[e.Op] != "" && (e.Op != history.OpRelease || leases < 2):
			text := fmt.Sprintf("the lock %s, with nothing in its way and nobody else", calls[e.Op])
			if e.Error != "" {
				text += ": " + e.Error
			}
			err := errors.New(text)
			if early := expiresEarly(events); early != nil { // and the call failed for that
				err = fmt.Errorf("%w; %w", err, early)
			}
			return false, err
		case e.Op == history.OpAcquire && e.Type == history.TypeOK:
			leases++
			alone = leases == 2
		case e.Op == history.OpRelease:
			alone = false
		case e.Op == history.OpAcquire:
			set = map[sentKey]bool{}
		case e.Type == history.TypeReply && e.Command != nil:
			link, _ := e.Link()
			key := sentKey{link, e.Command.Key}
			// A repeated SET may be a heartbeat. Commands to the store are not the lock's.
			repeatedSet := e.Command.Effect == history.EffectSet && set[key] && link.To != history.StoreName
			renews = renews || alone && (repeatedSet || e.Command.Effect == history.EffectExtend)
			set[key] = set[key] || e.Command.Effect == history.EffectSet
		}
	}
	if leases == 0 {
		return false, errors.New("the lock was not granted, with nothing in its way and nobody else")
	}
	return renews, nil
}

// failed reports whether an event ends a call that failed or may have failed.
func failed(e history.Event) bool { return e.Type == history.TypeFail || e.Type == history.TypeInfo }
