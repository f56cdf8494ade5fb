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
	"example.org/lockproof/internal/wording"
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
// abilities that the leases show. After an error no row is worth a run.
func Preflight(ctx context.Context, o Options, run Runner) (*locks.Abilities, error) {
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
	o.Events = true
	done, err := run.One(ctx, Job{Scenario: s, Lock: o.Lock}, o)
	switch {
	case err != nil:
		return nil, err
	case done.Failure != "":
		return nil, fmt.Errorf("the lock fails without faults: %s", done.Failure)
	case done.Skipped != "":
		return nil, fmt.Errorf("the lock cannot be tried: %s", done.Skipped)
	}
	found := &locks.Abilities{}
	if done.Abilities != nil {
		*found = *done.Abilities
	}
	err = failedCall(done.Events)
	found.Renews = err == nil && renewsAlone(done.Events)
	if err == nil && !found.Renews {
		err = expiresEarly(done.Events)
	}
	declared := slices.DeleteFunc(slices.Concat(found.Keys, kind.Keys),
		func(name string) bool { return name == locks.KeyPlaceholder })
	if names := unlikeOthers(done.Events); len(names) > 0 && len(declared) == 0 {
		found.Notices = append(found.Notices, fmt.Sprintf("it sets %q, which does not contain the caller's key: if it "+
			"depends on the key, declare it by Keys; if not, all keys are one lock", names))
	}
	if used := usedServers(done.Events); kind.Program && o.Nodes == 0 && len(used) < nodes &&
		slices.Contains(serverNumbers, len(used)) {
		found.Notices = append(found.Notices, fmt.Sprintf("it uses only %s of %d servers: if it never uses the others, "+
			"run it with --nodes %d", wording.List(used), nodes, len(used)))
	}
	return found, err
}

// usedServers names the servers that replied to a client, sorted, without the store.
func usedServers(events []history.Event) (names []string) {
	for _, e := range events {
		if link, is := e.Link(); is && e.Type == history.TypeReply && link.To != history.StoreName {
			names = append(names, link.To)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CallError is a call of the lock that failed without faults.
type CallError string

func (e CallError) Error() string { return string(e) }

// failedCall returns the first call that failed as an error. The second lease may be over before its release.
func failedCall(events []history.Event) error {
	calls := map[history.Op]string{history.OpAcquire: "was not granted", history.OpExtend: "was not extended",
		history.OpRelease: "was not released"}
	leases := 0
	for _, e := range events {
		switch {
		case e.Type == history.TypeNote && e.Reason == history.ReasonPreconditionFailed:
			return fmt.Errorf("without faults and other clients, %s", e.Text)
		case e.Op == history.OpAcquire && e.Type == history.TypeOK && e.Validity == 0:
			return errors.New("the lock's lease is over when it is granted (its validity is 0), without faults and other " +
				"clients")
		case e.Op == history.OpAcquire && e.Type == history.TypeOK:
			leases++
		case e.Type != history.TypeFail && e.Type != history.TypeInfo || calls[e.Op] == "":
		case e.Op == history.OpRelease && (leases > 1 || e.Reason == history.ReasonRefused): // it ends by expiry only
		default:
			text := fmt.Sprintf("the lock %s, without faults and other clients", calls[e.Op])
			if e.Error != "" {
				text += ": " + e.Error
			}
			err := error(CallError(text))
			if early := expiresEarly(events); early != nil { // and the call failed for that
				err = fmt.Errorf("%w; %w", err, early)
			}
			return err
		}
	}
	if leases == 0 {
		return errors.New("the lock was not granted, without faults and other clients")
	}
	return nil
}

// renewsAlone reports whether the lock extended its key by itself in the second lease, in which nobody calls it.
func renewsAlone(events []history.Event) (renews bool) {
	leases, alone := 0, false
	set := map[[2]string]bool{} // by link and key, since the latest acquire began
	for _, e := range events {
		switch {
		case e.Op == history.OpAcquire && e.Type == history.TypeOK:
			leases++
			alone = leases == 2
		case e.Op == history.OpAcquire:
			clear(set)
		case e.Op == history.OpRelease:
			alone = false
		case e.Type == history.TypeReply && e.Command != nil:
			link, _ := e.Link()
			key := [2]string{e.Process, e.Command.Key}
			// A repeated SET may be a heartbeat. Commands to the store are not the lock's.
			repeatedSet := e.Command.Effect == history.EffectSet && set[key] && link.To != history.StoreName
			renews = renews || alone && (repeatedSet || e.Command.Effect == history.EffectExtend)
			set[key] = set[key] || e.Command.Effect == history.EffectSet
		}
	}
	return renews
}

// ErrExpiresEarly: the lock's key expires before its lease ends.
var ErrExpiresEarly = errors.New("the lock's key expires before its lease ends, without faults")

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
