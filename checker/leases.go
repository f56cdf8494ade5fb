package checker

import (
	"cmp"
	"fmt"
	"slices"
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
	r, err := digest(InMemory(events))
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
	if err := r.prolong(); err != nil {
		return err
	}
	r.leases = map[string][]Lease{}
	for key, acquires := range r.acquires {
		leases := make([]Lease, 0, len(acquires))
		for _, o := range acquires {
			if o.belief != nil {
				if t, killed := r.killed(o.Process, o.done); killed {
					o.belief.kill(t)
				}
				leases = o.belief.appendLeases(leases, r.clocks)
				o.belief = nil
			}
		}
		if len(leases) > 0 {
			slices.SortStableFunc(leases, func(a, b Lease) int { return cmp.Compare(a.From, b.From) })
			r.leases[key] = leases
		}
	}
	return nil
}

// kill ends the belief with its client, which comes before what else happens at
// that time.
func (b *belief) kill(t int64) {
	if t <= b.end {
		b.end, b.ended = t, EndedKilled
	}
}

// release ends the belief in a lease as its release is invoked.
func (r *run) release(i int, e *history.Event) {
	if b := r.belief(e.Process, e.Lease); b != nil {
		b.stop(e.Time, EndedRelease)
		return
	}
	r.strays = append(r.strays, stray{e.Process, e.Lease, i})
}

// belief gives what a client believed of a lease, nil if it was granted none.
func (r *run) belief(client string, lease int) *belief {
	if o := r.operations.find(client, lease); o != nil {
		return o.belief
	}
	return nil
}

// prolong adds extensions and losses to the beliefs they are about.
func (r *run) prolong() error {
	for _, o := range r.operations.all {
		if o.Op != history.OpExtend || !o.ok() {
			continue
		}
		b := r.belief(o.Process, o.Lease)
		if b == nil {
			return fmt.Errorf("event %d: %s's extend is about lease %d, but that is no granted acquire of %s", o.end, o.Process, o.Lease, o.Process)
		}
		b.extensions = append(b.extensions, o)
	}
	if len(r.strays) > 0 {
		s := r.strays[0]
		return fmt.Errorf("event %d: %s's release is about lease %d, but that is no granted acquire of %s", s.event, s.process, s.lease, s.process)
	}
	for _, l := range r.lost {
		b := r.belief(l.process, l.lease)
		if b == nil {
			return fmt.Errorf("event %d: %s lost lease %d, but that is no granted acquire of %s", l.event, l.process, l.lease, l.process)
		}
		b.stop(l.time, EndedLost)
	}
	return nil
}

// appendLeases adds the stretches of one belief. An extension that comes while the
// client still believes moves the deadline; one that comes after it begins a
// new stretch; one that comes after the end changes nothing.
func (b *belief) appendLeases(all []Lease, clocks clocks) []Lease {
	sort.SliceStable(b.extensions, func(i, j int) bool { return b.extensions[i].done < b.extensions[j].done })
	current := b.open(b.grant, clocks)
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
