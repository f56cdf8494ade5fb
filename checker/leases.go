package checker

import (
	"cmp"
	"fmt"
	"slices"

	"lockproof/harness/history"
)

// What ends a lease.
const (
	EndedDeadline = "deadline"
	EndedRelease  = "release"
	EndedLost     = "lost"
	EndedKilled   = "killed"
)

// ending is what ends a lease, as it is kept.
type ending uint8

const (
	atDeadline ending = iota
	byRelease
	asLost
	asKilled
)

func (e ending) String() string {
	return [...]string{EndedDeadline, EndedRelease, EndedLost, EndedKilled}[e]
}

// lease is a Lease as it is kept.
type lease struct {
	from, until int64
	grant       *operation
	client      name
	ended       ending
}

// lease tells a lease.
func (r *run) lease(l lease) Lease {
	g := l.grant
	return Lease{
		Client: r.name(l.client), ID: g.id, Key: r.name(g.key), Token: r.text(g.token), Fence: g.fence,
		Asked: g.asked, From: l.from, Until: l.until, Ended: l.ended.String(),
	}
}

// readLeases turns the operations into leases.
func (r *run) readLeases() error {
	extensions, err := r.prolong()
	if err != nil {
		return err
	}
	for _, k := range r.keys {
		k.leases = make([]lease, 0, len(k.acquires))
		for _, o := range k.acquires {
			if !o.granted() {
				continue
			}
			if t, killed := r.killed(o.process, o.done); killed {
				o.kill(t)
			}
			k.leases = r.appendLeases(k.leases, o, extensions[o])
		}
		if !slices.IsSortedFunc(k.leases, byFrom) {
			slices.SortStableFunc(k.leases, byFrom)
		}
	}
	return nil
}

func byFrom(a, b lease) int { return cmp.Compare(a.from, b.from) }

// stop ends the belief in a granted acquire at a time, if it has not ended
// earlier.
func (o *operation) stop(t int64, why ending) {
	if t < o.stopped {
		o.stopped, o.ended = t, why
	}
}

// kill ends the belief with its client, which comes before what else happens at
// that time.
func (o *operation) kill(t int64) {
	if t <= o.stopped {
		o.stopped, o.ended = t, asKilled
	}
}

// release ends the belief in a lease as its release is invoked.
func (r *run) release(i int, e *history.Event) {
	process := r.names.of(e.Process)
	if g := r.grant(process, e.Lease); g != nil {
		g.stop(e.Time, byRelease)
		return
	}
	r.strays = append(r.strays, stray{e.Process, e.Lease, i})
}

// grant gives the acquire that granted a client a lease, nil if none did.
func (r *run) grant(client name, lease int) *operation {
	if o := r.operations.find(client, lease); o != nil && o.granted() {
		return o
	}
	return nil
}

// prolong gives the extensions of each grant and takes the losses into account.
func (r *run) prolong() (map[*operation][]*operation, error) {
	extensions := map[*operation][]*operation{}
	for o := range r.operations.kept.all() {
		if o.op != opExtend || !o.ok() {
			continue
		}
		g := r.grant(o.process, o.lease)
		if g == nil {
			return nil, fmt.Errorf("event %d: %s's extend is about lease %d, but that is no granted acquire of %s", o.end,
				r.name(o.process), o.lease, r.name(o.process))
		}
		extensions[g] = append(extensions[g], o)
	}
	if len(r.strays) > 0 {
		s := r.strays[0]
		return nil, fmt.Errorf("event %d: %s's release is about lease %d, but that is no granted acquire of %s", s.event,
			s.process, s.lease, s.process)
	}
	for _, l := range r.lost {
		g := r.grant(r.names.of(l.process), l.lease)
		if g == nil {
			return nil, fmt.Errorf("event %d: %s lost lease %d, but that is no granted acquire of %s", l.event, l.process, l.lease, l.process)
		}
		g.stop(l.time, asLost)
	}
	return extensions, nil
}

// appendLeases adds the stretches of one belief. An extension that comes while the
// client still believes moves the deadline; one that comes after it begins a
// new stretch; one that comes after the end changes nothing.
func (r *run) appendLeases(all []lease, grant *operation, extensions []*operation) []lease {
	slices.SortStableFunc(extensions, func(a, b *operation) int { return cmp.Compare(a.done, b.done) })
	current := r.open(grant, grant)
	for _, e := range extensions {
		if e.done >= grant.stopped {
			break
		}
		next := r.open(grant, e)
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
func (r *run) open(grant, o *operation) lease {
	l := lease{from: o.done, until: o.done, grant: grant, client: grant.process, ended: atDeadline}
	if o.validity > 0 {
		l.until = r.clocks.of(grant.process, o.wall).when(o.validity, o.done, int(o.end))
	}
	if grant.stopped < l.until {
		l.until, l.ended = grant.stopped, grant.ended
	}
	return l
}
