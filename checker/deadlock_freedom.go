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
	Timed:   true,
	Brief:   func(_ Violation, length string) string { return "waited without a grant: " + length },
	judge:   func(r *record) (Result, error) { return (&deadlockFreedom{r}).judge(), nil },
})

// deadlockFreedom: once faults are healed and holders gone, a waiting client gets the lock within Bounds.Free
// (redis.io, "Liveness property A"). No client keeps the lock by extensions for longer than Bounds.Tenure while another
// waits.
//
// A client waits during its attempts, and in the pauses that [waitPeriod.within] counts. Its wait does not count while
// any client has a usable lease on the key, and while it reaches no healthy majority, is stopped, or has late timers.
// The bound begins again when the lock may need its time again: an obstacle is set, extended or outlasts the TTL, its
// node's clock is set, or another client's key appears late ([keyed.setbacksOf], [keyed.lateTakeovers]).
//
// A remaining interval longer than the bound, by the client's clocks, is a violation: the lock was free while the
// client waited. A shorter one shows nothing. If the owners of the keys are unknown, only waits that no key can excuse
// are violations ([deadlockFreedom.provenWaits]).
type deadlockFreedom struct{ *record }

func (d *deadlockFreedom) judge() Result {
	var violations []Violation
	measured := map[string]int64{"waited": 0, "handovers": 0, "longest_wait": 0, "longest_free": 0}
	tested := make([]int64, len(d.keys)) // by key: its last grant that tests the property
	undecided := false                   // a client waited too long, unless an unknown key excuses it
	for i, k := range d.keys {
		interrupted := k.byClient(func(client string) []span { return union(k.setbacksOf(client), k.excused[client]) })
		late, tooLong := d.lateWaits(k, interrupted, true, measured), d.tooLongHeld(k)
		if d.keysUnknown != "" {
			undecided = undecided || len(d.lateWaits(k, k.excused, false, map[string]int64{}))+len(tooLong) > 0
			late, tooLong = d.provenWaits(k), nil
		}
		violations = append(append(violations, late...), tooLong...)
		tested[i] = d.earned(k, measured)
	}
	slices.SortStableFunc(violations, func(a, b Violation) int { return cmp.Compare(a.From, b.From) })
	result := newResult(DeadlockFreedom, violations, measured)
	unexpiring := d.keyWithoutExpiry()
	switch {
	case result.Verdict != history.Holds:
	case d.header.Bounds.Free <= 0:
		result.Undecide(Vacuous, "the history sets no bound for a wait")
	case undecided:
		result.Undecide(Unknown, "%s", d.keysUnknown)
	case unexpiring != "":
		result.Undecide(Vacuous, "%s", unexpiring)
	case measured["waited"] == 0 && measured["handovers"] == 0:
		result.Undecide(Vacuous, "no client acquired a lock that another had used before")
	default:
		for i, k := range d.keys {
			d.requireLaterTest(&result, k, d.header.Bounds.Free, tested[i])
		}
	}
	return result
}

// provenWaits are the late waits that no key excuses, whoever owns it: each other client's command, whatever its
// effect, interrupts a wait until a TTL after it.
func (d *deadlockFreedom) provenWaits(k *keyed) []Violation {
	if len(d.changes) == 0 {
		return nil // the names of the keys are unknown
	}
	return d.lateWaits(k, k.byClient(func(client string) []span {
		spans := slices.Clone(k.excused[client])
		for _, c := range d.changes {
			if c.process != client {
				until := d.clocks.wall[c.node].timeAfter(d.ownTTL(c.process), c.time, c.event)
				spans = append(spans, span{c.time, max(c.time, until)})
			}
		}
		return union(spans)
	}), false, map[string]int64{})
}

// lateWaits finds the waits during which the lock was free for longer than Bounds.Free, and measures the longest such
// time. If keys is false, late keys do not interrupt a wait.
func (d *deadlockFreedom) lateWaits(k *keyed, interrupted map[string][]span, keys bool,
	measured map[string]int64) (late []Violation) {
	for _, wait := range k.waits {
		for _, gap := range wait.without(k.held) {
			for _, clear := range gap.without(interrupted[wait.client]) {
				free := longest(wait.within(clear))
				limit := d.scaledBound(d.header.Bounds.Free, wait.client, free)
				if keys && limit > 0 && free.length() > limit {
					free = longest(free.without(k.lateTakeovers(free, wait.client)))
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

func (d *deadlockFreedom) waitViolation(w *waitPeriod, free span) Violation {
	ending := "was still waiting"
	if w.last().leased && w.until == free.until {
		ending = "acquired it at the end"
	}
	limit := d.scaledBound(d.header.Bounds.Free, w.client, free)
	return d.uselessWait(w, free, limit, "majority of its nodes", ending)
}

// earned counts the grants that test the property, and returns the time of the last. "waited" are grants after a wait
// for a lease, for a majority or for other clients' keys on the nodes. "handovers" are grants of a lock that another
// client held, or tried to acquire, at most Bounds.Free before the attempt.
func (d *deadlockFreedom) earned(k *keyed, measured map[string]int64) (last int64) {
	obstacles := k.byClient(func(client string) []span {
		unreached := d.unreachable(client, k, true)
		if d.keysUnknown != "" {
			return unreached
		}
		return union(d.othersKeys(k, client), unreached)
	})
	claims := k.claims(false)
	for _, waited := range k.waits {
		o := waited.last()
		if !o.leased {
			continue
		}
		measured["longest_wait"] = max(measured["longest_wait"], o.done-o.invoked)
		// The moment of the grant belongs to the lease that it begins.
		wait := span{waited.from, o.done - 1}
		if wait.touches(k.held) || wait.touches(obstacles[o.process]) {
			measured["waited"]++
			last = max(last, o.done)
		}
		if claims.ofOthers(o.process, span{o.invoked - d.header.Bounds.Free, o.done - 1}) {
			measured["handovers"]++
			last = max(last, o.done)
		}
	}
	return last
}

// holdPeriods returns the leases with all their extensions, late ones included: each lasts from its grant to the end of
// its last extension. A new grant begins a new period: its client competed with all others for it.
func (k *keyed) holdPeriods() (all []lease) {
	for _, l := range k.leases { // ordered by from
		if n := len(all) - 1; n >= 0 && all[n].grant == l.grant {
			all[n].until = max(all[n].until, l.until)
		} else {
			all = append(all, l)
		}
	}
	return all
}

// requireLaterTest makes a "holds" vacuous if a client waited longer than the bound without a grant, and no later grant
// tests the property. Whatever excuses the wait, and whatever other clients were granted meanwhile, it is unknown
// whether this client would ever get the lock.
func (r *record) requireLaterTest(result *Result, k *keyed, bound, tested int64) {
	for _, w := range k.waits {
		if w.last().leased || w.until <= tested || result.Verdict != history.Holds {
			continue
		}
		if in := longest(w.within(w.span)); in.length() > bound {
			result.Undecide(Vacuous,
				"%s waited %s for %q without a grant, until %s, and no later grant tests the property",
				w.client, formatDuration(in.length()), k.name, formatTime(in.until))
		}
	}
}

// holdBound is how long a client may keep a lock: Bounds.Tenure, scaled to the client's own TTL if that is longer.
func (d *deadlockFreedom) holdBound(holder string) int64 {
	bound, ttl := d.header.Bounds.Tenure, max(1, d.header.TTL)
	return bound + int64(float64(bound)*float64(max(0, d.ownTTL(holder)-ttl))/float64(ttl))
}

// tooLongHeld finds the periods during which one other client waited for longer than the bound. Time without a healthy
// majority in the waiter's reach, or with its timers late, does not count.
func (d *deadlockFreedom) tooLongHeld(k *keyed) []Violation {
	if d.header.Bounds.Tenure <= 0 {
		return nil
	}
	var found []Violation
	for _, l := range k.holdPeriods() {
		bound := d.holdBound(l.client)
		if l.length() <= bound {
			continue
		}
		for _, w := range k.waits {
			if w.client == l.client || !w.overlaps(l.span) {
				continue
			}
			if both := longest(w.within(l.span)); total(both.without(k.excused[w.client])) > bound {
				found = append(found, d.holdViolation(l, w.client, both))
			}
		}
	}
	return found
}

func (d *deadlockFreedom) holdViolation(held lease, waiter string, both span) Violation {
	l := held.result()
	return Violation{
		Key: l.Key, From: both.from, Until: both.until, Processes: []string{l.Client, waiter},
		What: fmt.Sprintf("%s waited %s (limit %s) for %q while %s held it, from %s to %s",
			waiter, formatDuration(both.length()), formatDuration(d.holdBound(l.Client)), l.Key, l.Client,
			formatTime(l.From), formatTime(l.Until)),
		Leases: []Lease{l},
		facts:  func() []Fact { return d.holdFacts(held, both) },
	}
}

// keyWithoutExpiry describes a key without an expiry in the last look into a node; "": none. Only a later request can
// show whether it blocks all clients: the lock may have another way to remove it, as the run may have shown.
func (d *deadlockFreedom) keyWithoutExpiry() string {
	for _, node := range keysOf(d.looks) {
		for _, k := range d.keys {
			state, present := d.looks[node][d.names.onServer(k.name)]
			if present && state.TTL < 0 && state.Token != "" && !k.takenOver() {
				return fmt.Sprintf("the key %q on %s has no expiry, and no client tried for long enough to show whether it can "+
					"still be acquired", k.name, node)
			}
		}
	}
	return ""
}

// takenOver reports whether a granted acquire replaced another client's key that had no expiry.
func (k *keyed) takenOver() bool {
	taken := map[int32]*keyOwnership{} // by the event that showed it first
	for _, h := range k.ownerships {
		taken[h.set] = h
	}
	return slices.ContainsFunc(k.ownerships, func(h *keyOwnership) bool {
		next := taken[h.ender]
		return h.expires == never && h.ended == OwnershipRemoved && next != nil && next.owner != h.owner &&
			slices.ContainsFunc(k.acquires, func(o *operation) bool {
				return o.leased && o.process == next.owner && o.invoked <= next.from && next.from <= o.done
			})
	})
}
