package checker

import "slices"

// writeBlame explains a lost update or a stale write.
type writeBlame struct {
	*blamer
	clash
}

// explain tells why, and cites the two accesses as far as they were acknowledged.
func (b *writeBlame) explain() *Blame {
	blame := b.cause()
	for _, a := range []access{b.early, b.late} {
		if a.op.ok() {
			blame.restingOn(int(a.op.end))
		}
	}
	return blame
}

// cause tells which holder acted when its lease was over, and what kept it from
// noticing; or that two held the lock at once.
func (b *writeBlame) cause() *Blame {
	for _, a := range []access{b.late, b.early} {
		l, found := b.leaseOf(a)
		if !found || !a.write || a.ret < l.Until {
			continue
		}
		basis := int(b.basis(l, l.Until).end)
		if f, found := b.delayed(a, l); found {
			return b.blame(f.event, HolderStops, "%s; its lease ended at %s, and its write took effect by %s",
				f.describe(), at(l.Until), at(a.ret)).restingOn(basis)
		}
		return b.blame(int(a.op.call), HolderStops, "%s's lease ended at %s, but its write %s took effect by %s", a.client,
			at(l.Until), a.value, at(a.ret)).restingOn(basis)
	}
	for _, o := range sweep(b.vocabulary, b.key(b.late.op.key).leases) {
		if o.first.until >= min(b.early.call, b.late.call) {
			return b.forOverlap(b.overlap(o))
		}
	}
	return b.blame(int(b.late.op.call), Unexplained, "both acted within their leases, and no two leases overlap")
}

// leaseOf gives the lease under which an access was made, the last stretch of it.
func (b *writeBlame) leaseOf(a access) (Lease, bool) {
	for _, l := range slices.Backward(b.key(a.op.key).leases) {
		if l.client == a.op.process && l.grant.id == a.op.lease && l.from <= a.ret {
			return b.lease(l), true
		}
	}
	return Lease{}, false
}

// delayed finds the fault that stopped the client, or its way to the store,
// after it was granted the lock and before its write took effect.
func (b *writeBlame) delayed(a access, l Lease) (fault, bool) {
	for _, f := range b.faults {
		stopped := f.class.Pauses() && f.target == a.client
		held := f.class.HindersLink() && f.target == a.client+"-store"
		if (stopped || held) && f.from < a.ret && f.until > l.From {
			return f, true
		}
	}
	return fault{}, false
}
