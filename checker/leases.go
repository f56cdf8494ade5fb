package checker

import (
	"fmt"
	"sort"

	"lockproof/harness/history"
)

// What ends a lease.
const (
	EndedDeadline = "deadline"
	EndedRelease  = "release"
	EndedLost     = "lost"
	EndedKilled   = "killed"
)

// Leases gives every lease of a history, by key and in the order of From: one
// tenure as its client believed it. A lease that was extended after it had
// run out is two, with the same ID. Failed and unknown acquires are none.
// A history that Check refuses has no leases.
func Leases(events []history.Event) []Lease {
	r, err := digest(events)
	if err != nil {
		return nil
	}
	var all []Lease
	for _, key := range r.keys {
		all = append(all, r.leases[key]...)
	}
	return all
}

// belief is what a history says of one lease: the grant, its extensions, and
// the first event other than the deadline that ended it.
type belief struct {
	grant      *operation
	extensions []*operation
	end        int64
	ended      string
}

// stop ends the belief at a time, if it has not ended earlier.
func (b *belief) stop(t int64, why string) {
	if t < b.end {
		b.end, b.ended = t, why
	}
}

// readLeases turns the operations into leases.
func (r *run) readLeases() error {
	beliefs, order, err := r.beliefs()
	if err != nil {
		return err
	}
	r.leases = map[string][]Lease{}
	for _, name := range order {
		b := beliefs[name]
		r.leases[b.grant.Key] = append(r.leases[b.grant.Key], b.leases(r.clocks)...)
	}
	for _, leases := range r.leases {
		sort.SliceStable(leases, func(i, j int) bool { return leases[i].From < leases[j].From })
	}
	return nil
}

// beliefs collects, for each granted acquire, what prolonged and ended it.
func (r *run) beliefs() (map[call]*belief, []call, error) {
	beliefs := map[call]*belief{}
	var order []call
	for _, o := range r.operations {
		if o.Op != history.OpAcquire || !o.ok() {
			continue
		}
		name := call{o.Process, o.ID}
		b := &belief{grant: o, end: never, ended: EndedDeadline}
		if t, killed := r.killed(o.Process, o.done); killed {
			b.stop(t, EndedKilled)
		}
		beliefs[name] = b
		order = append(order, name)
	}
	if err := r.prolong(beliefs); err != nil {
		return nil, nil, err
	}
	return beliefs, order, nil
}

// prolong adds extensions, releases and losses to the beliefs they are about.
func (r *run) prolong(beliefs map[call]*belief) error {
	for _, o := range r.operations {
		extends := o.Op == history.OpExtend && o.ok()
		if !extends && o.Op != history.OpRelease {
			continue
		}
		b := beliefs[call{o.Process, o.Lease}]
		switch {
		case b == nil:
			return fmt.Errorf("event %d: %s's %s is about lease %d, but that is no granted acquire of %s", o.end, o.Process, o.Op, o.Lease, o.Process)
		case extends:
			b.extensions = append(b.extensions, o)
		default:
			b.stop(o.asked, EndedRelease)
		}
	}
	for i, e := range r.events {
		if e.Type != history.TypeLost {
			continue
		}
		b := beliefs[call{e.Process, e.Lease}]
		if b == nil {
			return fmt.Errorf("event %d: %s lost lease %d, but that is no granted acquire of %s", i, e.Process, e.Lease, e.Process)
		}
		b.stop(e.Time, EndedLost)
	}
	return nil
}

// leases gives the stretches of one belief. An extension that comes while the
// client still believes moves the deadline; one that comes after it begins a
// new stretch; one that comes after the end changes nothing.
func (b *belief) leases(clocks clocks) []Lease {
	sort.SliceStable(b.extensions, func(i, j int) bool { return b.extensions[i].done < b.extensions[j].done })
	current := b.open(b.grant, clocks)
	var all []Lease
	for _, e := range b.extensions {
		if e.done >= b.end {
			break
		}
		next := b.open(e, clocks)
		if e.done > current.Until {
			all = appendLease(all, current)
			current = next
			continue
		}
		current.Until, current.Ended = next.Until, next.Ended
	}
	return appendLease(all, current)
}

// appendLease leaves out a lease that was over when it began.
func appendLease(all []Lease, l Lease) []Lease {
	if l.Until <= l.From {
		return all
	}
	return append(all, l)
}

// open gives the lease that begins with the ok of an acquire or extend.
func (b *belief) open(o *operation, clocks clocks) Lease {
	g := b.grant
	l := Lease{Client: g.Process, ID: g.ID, Key: g.Key, Token: g.Token, Fence: g.Fence, Asked: g.asked, From: o.done}
	l.Until, l.Ended = o.done, EndedDeadline
	if o.Validity > 0 {
		l.Until = clocks.of(g.Process, o.Wall).when(o.Validity, o.done)
	}
	if b.end < l.Until {
		l.Until, l.Ended = b.end, b.ended
	}
	return l
}
