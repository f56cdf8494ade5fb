package checker

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/harness/history"
)

// DeadlockFreedom is the name of a property.
const DeadlockFreedom = "deadlock-freedom"

var _ = declare(Property{
	Name:    DeadlockFreedom,
	Meaning: "once faults are healed and holders gone, a waiting client gets the lock within a stated bound",
	Place:   4,
	Timed:   true, Keys: true,
	Brief: func(_ Violation, length string) string { return "waiting in vain: " + length },
	judge: func(a *analysis, _ oracles) (Result, error) { return (&deadlockFreedom{a}).judge(), nil },
})

// deadlockFreedom: once faults are healed and holders gone, a waiting client
// gets the lock within Bounds.Free (redis.io, "Liveness property A"), and nobody
// keeps it by extensions for longer than Bounds.Tenure while another waits.
//
// A client waits while it asks, and asks again soon after it was refused. Its wait is
// cut at every moment from which on the lock may need some time again: when another
// lease ends, when a key comes to a node that a client has to wait for; and while the
// client reaches no healthy majority the bound does not run.
// What is left are the stretches in which the lock stood free while the client
// waited. One that is longer than the bound is a violation. A wait that ended
// before the bound shows nothing.
type deadlockFreedom struct{ *analysis }

func (d *deadlockFreedom) judge() Result {
	var violations []Violation
	measured := map[string]int64{"waited": 0, "handovers": 0, "longest_wait": 0, "longest_free": 0}
	tested := make([]int64, len(d.keys)) // when the last grant of each key put the property to the test
	inDoubt := false                     // somebody waited for too long, unless a key excuses it that is not known
	for i, k := range d.keys {
		inDoubt = inDoubt || d.doubt != "" && len(d.stoodFree(k, false, map[string]int64{})) > 0
		violations = append(violations, d.stoodFree(k, true, measured)...)
		violations = append(violations, d.tooLongHeld(k)...)
		tested[i] = d.earned(k, measured)
	}
	slices.SortStableFunc(violations, func(a, b Violation) int { return cmp.Compare(a.From, b.From) })
	result := newResult(DeadlockFreedom, violations, measured)
	kept := d.keptForEver()
	switch {
	case result.Verdict != history.Holds:
	case d.header.Bounds.Free <= 0:
		result.Undecide(Vacuous, "the run states no bound for a wait")
	case inDoubt:
		result.Undecide(Unknown, "%s", d.doubt)
	case kept != "":
		result.Undecide(Vacuous, "%s", kept)
	case measured["waited"] == 0 && measured["handovers"] == 0:
		result.Undecide(Vacuous, "nobody was granted a lock that had been in use")
	default:
		for i, k := range d.keys {
			d.testedBefore(&result, k, d.header.Bounds.Free, tested[i])
		}
	}
	return result
}

// stoodFree finds the waits during which the lock stood free for longer than Bounds.Free: between the leases and
// the stretches in which it may need its time again, of which some follow from keys on the nodes. It
// measures for how long it stood free at most.
func (d *deadlockFreedom) stoodFree(k *keyed, keys bool, measured map[string]int64) (late []Violation) {
	interrupted := k.excused
	if keys {
		interrupted = k.byClient(func(client string) []span { return union(k.setbacksOf(client), k.excused[client]) })
	}
	for _, wait := range k.waits {
		for _, gap := range wait.without(k.held) {
			for _, clear := range gap.without(interrupted[wait.client]) {
				free := longest(wait.within(clear))
				limit := d.bounded(d.header.Bounds.Free, wait.client, free)
				if keys && limit > 0 && free.length() > limit {
					free = longest(free.without(k.taken(free, wait.client)))
				}
				measured["longest_free"] = max(measured["longest_free"], free.length())
				if limit > 0 && free.length() > limit {
					late = append(late, d.waitViolation(wait, free))
				}
			}
		}
	}
	return late
}

// waitViolation tells of a wait during which the lock stood free for too long.
func (d *deadlockFreedom) waitViolation(w *waitPeriod, free span) Violation {
	ending := "; it was still waiting"
	if w.last().leased && w.until == free.until {
		ending = ", when it was granted"
	}
	client, key := w.client, w.attempts[0].key
	return Violation{
		Key: key, From: free.from, Until: free.until, Processes: []string{client},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q though the lock was free: it asked at %s; nobody held it "+
			"and a majority of its nodes was in reach from %s to %s%s",
			client, formatDuration(free.length()), formatDuration(d.bounded(d.header.Bounds.Free, w.client, free)), key,
			formatTime(w.from), formatTime(free.from), formatTime(free.until), ending),
		facts: func() []Fact { return d.waitFacts(client, key, free) },
	}
}

// earned counts the grants that show something, and says when the last of them was. Those that waited had to wait
// behind a lease, a majority out of reach, or another's key that lingered on the nodes; handovers are those of a
// lock that another client had held, or tried for, at most Bounds.Free before.
func (d *deadlockFreedom) earned(k *keyed, measured map[string]int64) (last int64) {
	inTheWay := k.byClient(func(client string) []span {
		away := d.unreachable(client, k, true)
		if d.doubt != "" {
			return away
		}
		return union(d.lingering(k, client), away)
	})
	claims := k.claims(false)
	for _, waited := range k.waits {
		o := waited.last()
		if !o.leased {
			continue
		}
		measured["longest_wait"] = max(measured["longest_wait"], o.done-o.asked)
		// The moment of the grant belongs to the lease that it begins.
		wait := span{waited.from, o.done - 1}
		if wait.meets(k.held) || wait.meets(inTheWay[o.process]) {
			measured["waited"]++
			last = max(last, o.done)
		}
		if claims.ofOthers(o.process, span{o.asked - d.header.Bounds.Free, o.done - 1}) {
			measured["handovers"]++
			last = max(last, o.done)
		}
	}
	return last
}

// tenure is for how long one client kept a key from all others: from a grant on, by
// extensions, also such as came when its lease had run out. Who is granted the lock anew has
// got it among all who asked.
type tenure struct {
	span
	first lease
}

// holders gives the tenures of a key.
func (k *keyed) holders() []tenure {
	var all []tenure
	for _, l := range k.leases { // in the order of from
		if n := len(all) - 1; n >= 0 && all[n].first.grant == l.grant {
			all[n].until = max(all[n].until, l.until)
		} else {
			all = append(all, tenure{span{l.from, l.until}, l})
		}
	}
	return all
}

// testedBefore takes a "holds" back, if a client waited in vain for longer than the bound, and no grant
// after that put the property to the test: whatever excuses the wait, and whoever was granted the lock
// meanwhile, nobody knows whether it would have been.
func (a *analysis) testedBefore(result *Result, k *keyed, bound, tested int64) {
	for _, w := range k.waits {
		if w.last().leased || w.until <= tested || result.Verdict != history.Holds {
			continue
		}
		if in := longest(w.within(w.span)); in.length() > bound {
			result.Undecide(Vacuous,
				"%s waited %s for %q in vain, up to %s, and no grant after that put the property to the test",
				w.client, formatDuration(in.length()), k.name, formatTime(in.until))
		}
	}
}

// tenureBound is for how long a client may keep a lock: Bounds.Tenure is so many TTLs.
func (d *deadlockFreedom) tenureBound(holder string) int64 {
	bound, ttl := d.header.Bounds.Tenure, max(1, d.header.TTL)
	return bound + int64(float64(bound)*float64(max(0, d.ownTTL(holder)-ttl))/float64(ttl))
}

// tooLongHeld finds the tenures that lasted longer than their bound while another client waited all
// the time, but for when it reached no majority.
func (d *deadlockFreedom) tooLongHeld(k *keyed) []Violation {
	if d.header.Bounds.Tenure <= 0 {
		return nil
	}
	var found []Violation
	for _, t := range k.holders() {
		bound := d.tenureBound(t.first.client)
		if t.length() <= bound {
			continue
		}
		for _, w := range k.waits {
			if w.client == t.first.client || !w.overlaps(t.span) {
				continue
			}
			if both := longest(w.within(t.span)); total(both.without(k.excused[w.client])) > bound {
				found = append(found, d.tenureViolation(t, w.client, both))
			}
		}
	}
	return found
}

func (d *deadlockFreedom) tenureViolation(t tenure, waiter string, both span) Violation {
	l := t.first.told()
	l.Until = t.until
	return Violation{
		Key: l.Key, From: both.from, Until: both.until, Processes: []string{l.Client, waiter},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q while %s kept it, from %s to %s",
			waiter, formatDuration(both.length()), formatDuration(d.tenureBound(t.first.client)), l.Key, l.Client,
			formatTime(l.From), formatTime(l.Until)),
		Leases: []Lease{l},
		facts:  func() []Fact { return d.tenureFacts(t, both) },
	}
}

// keptForEver names a key without an expiry in the last look into a node, "" if there is none. Whether it locks
// everybody out, only somebody who asks for it can show: a lock may have another way to end it, and the run may have
// shown that it does.
func (d *deadlockFreedom) keptForEver() string {
	for _, node := range keysOf(d.looks) {
		for _, k := range d.keys {
			state, present := d.looks[node][d.names.onServer(k.name)]
			if present && state.TTL < 0 && state.Token != "" && !k.takenOver() {
				return fmt.Sprintf("%q is left on %s without an expiry, and nobody asked for it for long enough to show "+
					"whether it "+
					"can still be had", k.name, node)
			}
		}
	}
	return ""
}

// takenOver reports whether a client was granted the lock by a command that showed the key of another, which had no
// expiry, and took it.
func (k *keyed) takenOver() bool {
	taken := map[int32]*keyOwnership{} // by the event that shows it
	for _, h := range k.tenures {
		taken[h.set] = h
	}
	return slices.ContainsFunc(k.tenures, func(h *keyOwnership) bool {
		next := taken[h.ender]
		return h.expires == never && h.ended == TenureRemoved && next != nil && next.owner != h.owner &&
			slices.ContainsFunc(k.acquires, func(o *operation) bool {
				return o.leased && o.process == next.owner && o.asked <= next.from && next.from <= o.done
			})
	})
}
