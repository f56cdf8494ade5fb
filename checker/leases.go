package checker

import (
	"cmp"
	"slices"
	"sort"

	"example.org/lockproof/harness/history"
)

// The ends of a lease.
const (
	EndedDeadline = "deadline"
	EndedRelease  = "release"
	EndedLost     = "lost"
	EndedKilled   = "killed"
)

// lease is a Lease with its acquire.
type lease struct {
	span
	grant  *operation
	client string
	ended  string
}

func (l lease) result() Lease {
	g := l.grant
	return Lease{
		Client: l.client, ID: g.id, Key: g.key, Token: g.token, Fence: g.fence,
		Asked: g.invoked, From: l.from, Until: l.until, Ended: l.ended,
	}
}

// lostLease is a report to a client that it lost a lease.
type lostLease struct {
	moment
	lease int
}

// leaseBuilder builds the leases from the operations, losses and kills.
type leaseBuilder struct {
	*record
	lost    []lostLease
	replied map[string]int64 // by client: when a node last answered it
	// replyDelay is the shortest time from a node's reply to the end of its client's operation; 0 if it is not known of
	// a granted acquire.
	replyDelay      int64
	replyDelayKnown bool // a granted acquire has shown it
}

func (b *leaseBuilder) reply(e *history.Event) {
	if link, isLink := e.Link(); isLink {
		b.replied[link.From] = e.Time
	}
}

// measureReply records how long the last reply before the end of an operation travelled at most.
func (b *leaseBuilder) measureReply(o *operation) {
	if replied, some := b.replied[o.process]; some && replied >= o.invoked {
		b.replyDelay, b.replyDelayKnown = min(b.replyDelay, o.done-replied), b.replyDelayKnown || o.granted()
	}
}

func (b *leaseBuilder) recordLoss(i int, e *history.Event, lease int) {
	b.lost = append(b.lost, lostLease{moment{i, e.Time, e.Process}, lease})
}

// end turns the operations into leases. A lease that is granted for no longer than a reply travels to its client ends
// before the client can use it: it shows nothing but an overlap.
func (b *leaseBuilder) end() error {
	if !b.replyDelayKnown {
		b.replyDelay = 0
	}
	if err := b.applyOutcomes(); err != nil {
		return err
	}
	for _, k := range b.keys {
		k.leases = make([]lease, 0, len(k.acquires))
		for _, o := range k.acquires {
			if !o.granted() {
				continue
			}
			if t, killed := b.faults.killed(o.process, o.invoked); killed {
				o.kill(t) // before a grant that was recorded later: a killed client does not return
			}
			k.leases = b.appendLeases(k.leases, o)
		}
		slices.SortStableFunc(k.leases, byFrom)
	}
	return nil
}

func byFrom(a, b lease) int { return cmp.Compare(a.from, b.from) }

// stop ends the lease of a granted acquire at a time, unless it ended earlier.
func (o *operation) stop(t int64, why string) {
	if t < o.stopped {
		o.stopped, o.ended = t, why
	}
}

// kill ends the lease with its client. At the same time, a kill comes before any other end.
func (o *operation) kill(t int64) {
	if t <= o.stopped {
		o.stopped, o.ended = t, EndedKilled
	}
}

// applyOutcomes finds the extensions of each grant, and ends leases at their releases and losses.
func (b *leaseBuilder) applyOutcomes() error {
	for _, o := range b.operations.kept {
		if o.lease == 0 || o.op == history.OpAcquire {
			if o.op == history.OpRelease || o.op == history.OpExtend && o.ok() {
				return eventError(o.call, "%s's %s names no lease", o.process, o.op)
			}
			continue
		}
		g := b.operations.grant(o.process, o.lease)
		if err := b.checkLease(o, g); err != nil {
			return err
		}
		switch {
		case o.op == history.OpRelease:
			g.stop(o.invoked, EndedRelease)
		case o.op == history.OpExtend && o.ok():
			b.extensions[g] = append(b.extensions[g], o)
		}
	}
	for _, l := range b.lost {
		g := b.operations.grant(l.process, l.lease)
		if g == nil || l.time < g.done {
			return eventError(l.event, "%s lost lease %d, but that is no acquire of %s that had been granted before",
				l.process, l.lease, l.process)
		}
		g.stop(l.time, EndedLost)
	}
	for _, all := range b.extensions {
		slices.SortStableFunc(all, func(a, b *operation) int { return cmp.Compare(a.end, b.end) })
	}
	return nil
}

// checkLease checks that an operation's lease was granted before it, on the same key. Otherwise it could end a lease
// before it begins, and hide an overlap.
func (b *leaseBuilder) checkLease(o, grant *operation) error {
	switch {
	case grant == nil:
		return eventError(o.call, "%s's %s is about lease %d, but that is no granted acquire of %s", o.process,
			o.op, o.lease, o.process)
	case o.invoked < grant.done:
		return eventError(o.call, "%s's %s is about lease %d, which was granted only later, at %s", o.process,
			o.op, o.lease, formatTime(grant.done))
	case o.key != "" && o.key != grant.key:
		return eventError(o.call, "%s's %s of %q is about lease %d, which is on %q", o.process, o.op, o.key,
			o.lease, grant.key)
	}
	return nil
}

// appendLeases adds the intervals of one lease. An extension within the lease moves the deadline. One after the
// deadline begins a new interval. One after a release, a loss or a kill changes nothing.
func (b *leaseBuilder) appendLeases(all []lease, grant *operation) []lease {
	current := b.newLease(grant, grant)
	for _, e := range b.extensions[grant] {
		if e.done >= grant.stopped {
			break
		}
		next := b.newLease(grant, e)
		if e.done > current.until {
			all = appendLease(all, current)
			current = next
			continue
		}
		current.until, current.ended = next.until, next.ended
	}
	return appendLease(all, current)
}

// appendLease skips a lease that was over when it began.
func appendLease(all []lease, l lease) []lease {
	if l.until <= l.from {
		return all
	}
	return append(all, l)
}

// newLease returns the lease that begins with the ok of an acquire or extend.
func (b *leaseBuilder) newLease(grant, o *operation) lease {
	l := lease{span: span{o.done, o.done}, grant: grant, client: grant.process, ended: EndedDeadline}
	if o.validity > 0 {
		l.until = b.clocks.clockOf(grant.process, o.wall).timeAfter(o.validity, o.done, int(o.end))
	}
	offered := l.until
	if grant.ended == EndedKilled && grant.stopped <= l.from {
		offered = l.from // the killed client cannot use it
	}
	if grant.stopped < l.until {
		l.until, l.ended = grant.stopped, grant.ended
		if l.ended == EndedLost {
			offered = l.until
		}
	}
	grant.leased = grant.leased || offered-l.from > b.replyDelay
	return l
}

// basis returns the operation whose ok a lease rests on at a time: its latest extension, or its acquire.
func (r *record) basis(l lease, t int64) *operation {
	basis := l.grant
	for _, o := range r.extensions[l.grant] {
		if o.done <= t && o.done > basis.done {
			basis = o
		}
	}
	return basis
}

// owned returns, for each node, the last ownership with a lease's token that began by a time.
func (r *record) owned(l lease, by int64) map[string]*keyOwnership {
	nodes := map[string]*keyOwnership{}
	for _, h := range r.key(l.grant.key).ownerships {
		if h.token == l.grant.token && h.from <= by {
			nodes[h.node] = h
		}
	}
	return nodes
}

// inferTokens finds the tokens of leases. If the lock does not show a token, it is the one that the client's keys have
// on most nodes at the grant, of the keys that it set during the acquire.
func (k *keyed) inferTokens() {
	var taken map[string][]*keyOwnership // by client, only if a lease shows no token
	for _, o := range k.acquires {
		if o.token != "" || !o.ok() {
			continue
		}
		if taken == nil {
			taken = map[string][]*keyOwnership{}
			for _, h := range k.ownerships {
				taken[h.owner] = append(taken[h.owner], h)
			}
		}
		nodes, most := map[string]int{}, 0
		keys := taken[o.process]
		first := sort.Search(len(keys), func(i int) bool { return keys[i].from >= o.invoked })
		for _, h := range keys[first:] {
			if h.from > o.done {
				break
			}
			if h.until < o.done {
				continue
			}
			if nodes[h.token]++; nodes[h.token] > most {
				most, o.token = nodes[h.token], h.token
			}
		}
	}
}

// spansOf returns the merged intervals of the leases that their clients could use.
func spansOf(leases []lease) []span {
	spans := make([]span, 0, len(leases))
	for _, l := range leases { // in the order of from
		if l.grant.leased {
			spans = merge(spans, l.span)
		}
	}
	return slices.Clip(spans)
}
