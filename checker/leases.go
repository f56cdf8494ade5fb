package checker

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/lockproof/harness/history"
)

// What ends a lease.
const (
	EndedDeadline = "deadline"
	EndedRelease  = "release"
	EndedLost     = "lost"
	EndedKilled   = "killed"
)

// lease is a Lease as it is kept.
type lease struct {
	from, until int64
	grant       *operation
	client      string
	ended       string
}

// told is the lease as a result has it.
func (l lease) told() Lease {
	g := l.grant
	return Lease{
		Client: l.client, ID: g.id, Key: g.key, Token: g.token, Fence: g.fence,
		Asked: g.asked, From: l.from, Until: l.until, Ended: l.ended,
	}
}

// lostLease is a client's being told that it lost a lease.
type lostLease struct {
	process string
	lease   int
	time    int64
	event   int
}

// leaseBuilder follows what clients believe of their leases, and makes leases of it.
type leaseBuilder struct {
	*record
	lost    []lostLease
	replied map[string]int64 // client to when a node answered it last
	// way is the shortest time that an answer took to a client; 0 if none is known of a client that was granted the lock.
	way     int64
	granted bool // such a one is known
}

// reply notes that a node answered a client.
func (b *leaseBuilder) reply(e *history.Event) {
	if link, isLink := e.Link(); isLink {
		b.replied[link.From] = e.Time
	}
}

// returned notes for how long the last answer before the end of an operation was on its way at most.
func (b *leaseBuilder) returned(o *operation) {
	if replied, some := b.replied[o.process]; some && replied >= o.asked {
		b.way, b.granted = min(b.way, o.done-replied), b.granted || o.granted()
	}
}

// lose notes that a client was told that it lost a lease.
func (b *leaseBuilder) lose(i int, e *history.Event, lease int) {
	b.lost = append(b.lost, lostLease{e.Process, lease, e.Time, i})
}

// end turns the operations into leases. A lease that is offered for no longer than an answer
// takes to its client is over before anybody could use it: no evidence of anything but an overlap.
func (b *leaseBuilder) end() error {
	if !b.granted {
		b.way = 0
	}
	if err := b.prolong(); err != nil {
		return err
	}
	for _, k := range b.keys {
		k.leases = make([]lease, 0, len(k.acquires))
		for _, o := range k.acquires {
			if !o.granted() {
				continue
			}
			if t, killed := b.kills.first(o.process, o.asked); killed {
				o.kill(t) // before its grant, if that was told when its client was gone: the dead do not come back
			}
			k.leases = b.appendLeases(k.leases, o)
		}
		slices.SortStableFunc(k.leases, byFrom)
	}
	return nil
}

func byFrom(a, b lease) int { return cmp.Compare(a.from, b.from) }

// stop ends the belief in a granted acquire at a time, if it has not ended
// earlier.
func (o *operation) stop(t int64, why string) {
	if t < o.stopped {
		o.stopped, o.ended = t, why
	}
}

// kill ends the belief with its client, which comes before what else happens at
// that time.
func (o *operation) kill(t int64) {
	if t <= o.stopped {
		o.stopped, o.ended = t, EndedKilled
	}
}

// prolong finds the extensions of each grant and takes releases and losses into account.
func (b *leaseBuilder) prolong() error {
	for _, o := range b.operations.kept {
		if o.op != history.OpRelease && (o.op != history.OpExtend || !o.ok()) {
			continue
		}
		g := b.operations.grant(o.process, o.lease)
		switch {
		case g == nil && o.op == history.OpRelease:
			return fmt.Errorf("event %d: %s's release is about lease %d, but that is no granted acquire of %s", o.call,
				o.process, o.lease, o.process)
		case g == nil:
			return fmt.Errorf("event %d: %s's extend is about lease %d, but that is no granted acquire of %s", o.end,
				o.process, o.lease, o.process)
		case o.op == history.OpRelease:
			g.stop(o.asked, EndedRelease)
		default:
			b.extensions[g] = append(b.extensions[g], o)
		}
	}
	for _, l := range b.lost {
		g := b.operations.grant(l.process, l.lease)
		if g == nil {
			return fmt.Errorf("event %d: %s lost lease %d, but that is no granted acquire of %s",
				l.event, l.process, l.lease, l.process)
		}
		g.stop(l.time, EndedLost)
	}
	for _, all := range b.extensions {
		slices.SortStableFunc(all, func(a, b *operation) int { return cmp.Compare(a.end, b.end) })
	}
	return nil
}

// appendLeases adds the stretches of one belief. An extension that comes while the
// client still believes moves the deadline; one that comes after it begins a
// new stretch; one that comes after the end changes nothing.
func (b *leaseBuilder) appendLeases(all []lease, grant *operation) []lease {
	current := b.open(grant, grant)
	for _, e := range b.extensions[grant] {
		if e.done >= grant.stopped {
			break
		}
		next := b.open(grant, e)
		if e.done > current.until {
			all = appendLease(all, current)
			current = next
			continue
		}
		current.until, current.ended = next.until, next.ended
	}
	return appendLease(all, current)
}

// appendLease leaves out a lease that was over when it began.
func appendLease(all []lease, l lease) []lease {
	if l.until <= l.from {
		return all
	}
	return append(all, l)
}

// open gives the lease that begins with the ok of an acquire or extend.
func (b *leaseBuilder) open(grant, o *operation) lease {
	l := lease{from: o.done, until: o.done, grant: grant, client: grant.process, ended: EndedDeadline}
	if o.validity > 0 {
		l.until = b.clocks.of(grant.process, o.wall).when(o.validity, o.done, int(o.end))
	}
	offered := l.until
	if grant.ended == EndedKilled && grant.stopped <= l.from {
		offered = l.from // nobody was there to use it
	}
	if grant.stopped < l.until {
		l.until, l.ended = grant.stopped, grant.ended
		if l.ended == EndedLost {
			offered = l.until
		}
	}
	grant.leased = grant.leased || offered-l.from > b.way
	return l
}

// basis gives the operation whose ok a client's belief rests on at a time: the
// latest extension of the lease, or its acquire.
func (r *record) basis(l lease, t int64) *operation {
	basis := l.grant
	for _, o := range r.extensions[l.grant] {
		if o.done <= t && o.done > basis.done {
			basis = o
		}
	}
	return basis
}

// owned gives, for each node, the last tenure of a lease's token that began by
// a time.
func (r *record) owned(l lease, by int64) map[string]*keyOwnership {
	nodes := map[string]*keyOwnership{}
	for _, h := range r.key(l.grant.key).tenures {
		if h.token == l.grant.token && h.from <= by {
			nodes[h.node] = h
		}
	}
	return nodes
}

// spansOf gives the stretches for which a key was held by somebody who could use it.
func spansOf(leases []lease) []span {
	spans := make([]span, 0, len(leases))
	for _, l := range leases { // in the order of from
		if l.grant.leased {
			spans = merge(spans, span{l.from, l.until})
		}
	}
	return slices.Clip(spans)
}
