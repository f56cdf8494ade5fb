package checker

import (
	"slices"

	"lockproof/harness/history"
)

// blameWrite explains a lost update or a stale write: which holder acted when
// its lease was over, and what kept it from noticing; or that two held the
// lock at once.
func (r *run) blameWrite(c clash) *Blame {
	for _, a := range []access{c.late, c.early} {
		l, found := r.leaseOf(a)
		if !found || !a.write || a.ret < l.Until {
			continue
		}
		if f, found := r.delayed(a, l); found {
			return r.blame(f.event, HolderStops, "%s; its lease ended at %s, and its write took effect by %s", f.describe(), at(l.Until), at(a.ret))
		}
		return r.blame(int(a.op.call), HolderStops, "%s's lease ended at %s, but its write %s took effect by %s", a.client,
			at(l.Until), a.value, at(a.ret))
	}
	for _, o := range r.sweep(r.key(c.late.op.key).leases) {
		if o.first.until >= min(c.early.call, c.late.call) {
			return r.blameOverlap(r.overlap(o))
		}
	}
	return r.blame(int(c.late.op.call), Unexplained, "both acted within their leases, and no two leases overlap")
}

// leaseOf gives the lease under which an access was made, the last stretch of it.
func (r *run) leaseOf(a access) (Lease, bool) {
	for _, l := range slices.Backward(r.key(a.op.key).leases) {
		if l.client == a.op.process && l.grant.id == a.op.lease && l.from <= a.ret {
			return r.lease(l), true
		}
	}
	return Lease{}, false
}

// delayed finds the fault that stopped the client, or its way to the store,
// after it was granted the lock and before its write took effect.
func (r *run) delayed(a access, l Lease) (fault, bool) {
	for _, f := range r.faults {
		stopped := f.class.Pauses() && f.target == a.client
		held := f.class.HindersLink() && f.target == a.client+"-store"
		if (stopped || held) && f.from <= a.ret && f.until >= l.From {
			return f, true
		}
	}
	return fault{}, false
}

// blameToken explains tokens that do not grow: a node lost its counter, or else
// the lock draws them from where not every earlier one is known.
func (r *run) blameToken(before, o *operation) *Blame {
	for _, f := range r.faults {
		lost := f.class == history.NodeDown || f.class == history.NodeForgets
		if lost && slices.Contains(r.header.Nodes, f.target) && f.from >= before.asked && f.from <= o.done {
			return r.blame(f.event, NodesRemember, "%s, and with it went the counter that tokens come from", f.describe())
		}
	}
	return r.blame(int(o.end), OneCounter, "what %s drew its token from had not seen token %d", r.name(o.process), before.fence)
}

// blameWait explains a lock that stood free while a client waited: a key that
// lingered on the nodes, or attempts that got in one another's way.
func (r *run) blameWait(o *operation, free span) *Blame {
	h := r.lingerer(o, free)
	if h == nil {
		if rivals := r.rivals(o, free); rivals > 0 {
			return r.blame(int(o.call), "RetryJitter", "%s and %d more tried again and again for %q, and none got a majority",
				r.name(o.process), rivals, r.name(o.key))
		}
		return r.blameUnavailable(o, free)
	}
	for _, s := range wrongSettings(r.clocks.wall[h.node], r.name(h.node), span{h.from, h.until}) {
		if s.jump < -precision || s.rate < 1 {
			return r.blame(s.event, ClocksAgree, "%s's clock was put back at %s, so %s's key there lived until %s",
				r.name(h.node), at(s.from), r.name(h.owner), at(h.until))
		}
	}
	return r.blameOrphan(h)
}

// lingerer gives the key of another that lived longest into a free stretch.
func (r *run) lingerer(o *operation, free span) *holding {
	var longest *holding
	for _, h := range r.key(o.key).tenures {
		inWay := h.owner != o.process && h.from <= free.from+r.header.Bounds.Free && h.until > free.from
		if inWay && h.until-h.from > r.header.Bounds.Free/2 && (longest == nil || h.until > longest.until) {
			longest = h
		}
	}
	return longest
}

// rivals counts the other clients that tried for the key throughout a stretch.
func (r *run) rivals(o *operation, free span) int {
	clients := map[name]bool{}
	for _, other := range r.key(o.key).acquires {
		if other.process != o.process && other.asked < free.until && other.done > free.from {
			clients[other.process] = true
		}
	}
	return len(clients)
}

// blameOrphan explains a key that nobody's lease needs any more: set after its
// owner had released it, or never released.
func (r *run) blameOrphan(h *holding) *Blame {
	if h.expires >= never {
		return r.blame(int(h.set), KeysExpire, "%s set the key on %s at %s without an expiry", r.name(h.owner), r.name(h.node), at(h.from))
	}
	if t, early := r.releasedBefore(h); early {
		return r.blame(int(h.set), "ReleaseAfterSet", "%s's SET took the key on %s at %s, after its release had been there at %s", r.name(h.owner), r.name(h.node), at(h.from), at(t))
	}
	if f, found := r.undelivered(h); found && !r.off("ReleaseEverywhere") {
		return r.blame(f.event, ReleaseArrives, "%s, so %s could not give back its key there, set at %s, before %s",
			f.describe(), r.name(h.owner), at(h.from), at(h.until))
	}
	if r.released(h) {
		return r.blame(int(h.set), "ReleaseEverywhere", "%s's release left its key on %s, set at %s, until %s",
			r.name(h.owner), r.name(h.node), at(h.from), at(h.until))
	}
	return r.blame(int(h.set), "ReleaseEverywhere", "%s's attempt ended without a lease, but its key stayed on %s from %s to %s", r.name(h.owner), r.name(h.node), at(h.from), at(h.until))
}

// releasedBefore finds a delete of a token that the node answered before the
// token was set there.
func (r *run) releasedBefore(h *holding) (int64, bool) {
	token := r.text(h.token)
	for _, d := range r.deletions() {
		if d.answered && d.event < int(h.set) && d.link == r.linkOf(h, ">") && d.token == token && token != "" {
			return d.time, true
		}
	}
	return 0, false
}

// undelivered finds the fault that kept a key's owner from its node, if no
// delete of the owner's reached the node while the key was there.
func (r *run) undelivered(h *holding) (fault, bool) {
	for _, d := range r.deletions() {
		if !d.answered && d.link == r.linkOf(h, ">") && d.time > h.from && d.time < h.until {
			return fault{}, false
		}
	}
	for _, f := range r.faults {
		between := f.class.HindersLink() && f.target == r.linkOf(h, "-")
		if between && f.from <= h.until && f.until >= h.from {
			return f, true
		}
	}
	return fault{}, false
}

// linkOf names the link from a key's owner to its node, as commands (>) or
// faults (-) do.
func (r *run) linkOf(h *holding, arrow string) string {
	return r.name(h.owner) + arrow + r.name(h.node)
}

// released reports whether the owner of a key called release for its lease.
func (r *run) released(h *holding) bool {
	for _, l := range r.key(h.key).leases {
		if l.client == h.owner && l.grant.token == h.token && l.ended == byRelease {
			return true
		}
	}
	return false
}

// blameTenure explains a lease kept for too long: the extension with which the
// bound was passed.
func (r *run) blameTenure(l Lease, both span) *Blame {
	source := r.source(l, both.from+r.header.Bounds.Tenure)
	return r.blame(int(source.end), "BoundedExtensions",
		"%s went on extending its lease, last at %s when the bound was passed", l.Client, at(source.done))
}

// blameNoExpiry explains a key without an expiry by its SET, if that was seen.
func (r *run) blameNoExpiry(node, key string, look int) *Blame {
	for _, h := range slices.Backward(r.of(key).tenures) {
		if r.name(h.node) == node {
			orphan := *h
			orphan.expires = never
			return r.blameOrphan(&orphan)
		}
	}
	return r.blame(look, KeysExpire, "the key on %s has no expiry", node)
}

// blameUnavailable explains a lock that was not granted although it should
// have been: the fault on a minority that held it up, or the nodes it had.
func (r *run) blameUnavailable(o *operation, clear span) *Blame {
	for _, f := range r.faults {
		during := f.from < clear.until && f.until > clear.from
		sick := f.class.SickNode() && slices.Contains(r.header.Nodes, f.target)
		if !during || !(sick || f.class.HindersLink()) {
			continue
		}
		if sick && !f.class.Pauses() {
			return r.blame(f.event, MajorityHealthy,
				"%s, and although a majority was left, %s was not granted the lock without it", f.describe(), r.name(o.process))
		}
		return r.blame(f.event, "NodeTimeout", "%s, and %s went on waiting for it although a majority was left", f.describe(), r.name(o.process))
	}
	return r.blame(int(o.call), Unexplained, "no fault was on when %s waited", r.name(o.process))
}
