package checker

import (
	"slices"
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
		return r.blame(a.op.call, HolderStops, "%s's lease ended at %s, but its write %s took effect by %s", a.client, at(l.Until), a.value, at(a.ret))
	}
	for _, o := range sweep(r.leases[c.late.op.Key]) {
		if o.first.Until >= min(c.early.call, c.late.call) {
			return r.blameOverlap(o)
		}
	}
	return r.blame(c.late.op.call, Unexplained, "both acted within their leases, and no two leases overlap")
}

// leaseOf gives the lease under which an access was made, the last stretch of it.
func (r *run) leaseOf(a access) (Lease, bool) {
	for _, l := range slices.Backward(r.leases[a.op.Key]) {
		if l.Client == a.client && l.ID == a.op.Lease && l.From <= a.ret {
			return l, true
		}
	}
	return Lease{}, false
}

// delayed finds the fault that stopped the client, or its way to the store,
// after it was granted the lock and before its write took effect.
func (r *run) delayed(a access, l Lease) (fault, bool) {
	for _, f := range r.faults {
		stopped := f.kind == "pause" && f.target == a.client
		held := slices.Contains(hinders, f.kind) && f.target == a.client+"-store"
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
		lost := slices.Contains([]string{"kill", "shutdown", "power-loss", "flush"}, f.kind)
		if lost && slices.Contains(r.header.Nodes, f.target) && f.from >= before.asked && f.from <= o.done {
			return r.blame(f.event, NodesRemember, "%s, and with it went the counter that tokens come from", f.describe())
		}
	}
	return r.blame(o.end, OneCounter, "what %s drew its token from had not seen token %d", o.Process, before.Fence)
}

// blameWait explains a lock that stood free while a client waited: a key that
// lingered on the nodes, or attempts that got in one another's way.
func (r *run) blameWait(o *operation, free span) *Blame {
	h := r.lingerer(o, free)
	if h == nil {
		if rivals := r.rivals(o, free); rivals > 0 {
			return r.blame(o.call, "RetryJitter", "%s and %d more tried again and again for %q, and none got a majority", o.Process, rivals, o.Key)
		}
		return r.blameUnavailable(o, free)
	}
	for _, s := range wrongSettings(r.clocks.wall[h.Node], h.Node, span{h.From, h.Until}) {
		if s.jump < -precision || s.rate < 1 {
			return r.blame(s.event, ClocksAgree, "%s's clock was put back at %s, so %s's key there lived until %s", h.Node, at(s.from), h.Owner, at(h.Until))
		}
	}
	return r.blameOrphan(h)
}

// lingerer gives the key of another that lived longest into a free stretch.
func (r *run) lingerer(o *operation, free span) *holding {
	var longest *holding
	for _, h := range r.tenures[o.Key] {
		inWay := h.Owner != o.Process && h.From <= free.from+r.header.Bounds.Free && h.Until > free.from
		if inWay && h.Until-h.From > r.header.Bounds.Free/2 && (longest == nil || h.Until > longest.Until) {
			longest = h
		}
	}
	return longest
}

// rivals counts the other clients that tried for the key throughout a stretch.
func (r *run) rivals(o *operation, free span) int {
	clients := map[string]bool{}
	for _, other := range r.acquires[o.Key] {
		if other.Process != o.Process && other.asked < free.until && other.done > free.from {
			clients[other.Process] = true
		}
	}
	return len(clients)
}

// blameOrphan explains a key that nobody's lease needs any more: set after its
// owner had released it, or never released.
func (r *run) blameOrphan(h *holding) *Blame {
	if h.expires >= never {
		return r.blame(h.set, KeysExpire, "%s set the key on %s at %s without an expiry", h.Owner, h.Node, at(h.From))
	}
	if t, early := r.releasedBefore(h); early {
		return r.blame(h.set, "ReleaseAfterSet", "%s's SET took the key on %s at %s, after its release had been there at %s", h.Owner, h.Node, at(h.From), at(t))
	}
	if f, found := r.undelivered(h); found && !r.off("ReleaseEverywhere") {
		return r.blame(f.event, ReleaseArrives, "%s, so %s could not give back its key there, set at %s, before %s", f.describe(), h.Owner, at(h.From), at(h.Until))
	}
	if r.released(h) {
		return r.blame(h.set, "ReleaseEverywhere", "%s's release left its key on %s, set at %s, until %s", h.Owner, h.Node, at(h.From), at(h.Until))
	}
	return r.blame(h.set, "ReleaseEverywhere", "%s's attempt ended without a lease, but its key stayed on %s from %s to %s", h.Owner, h.Node, at(h.From), at(h.Until))
}

// releasedBefore finds a delete of a token that the node answered before the
// token was set there.
func (r *run) releasedBefore(h *holding) (int64, bool) {
	for _, d := range r.deletions() {
		if d.answered && d.event < h.set && d.link == h.Owner+">"+h.Node && d.token == h.Token && h.Token != "" {
			return d.time, true
		}
	}
	return 0, false
}

// undelivered finds the fault that kept a key's owner from its node, if no
// delete of the owner's reached the node while the key was there.
func (r *run) undelivered(h *holding) (fault, bool) {
	for _, d := range r.deletions() {
		if !d.answered && d.link == h.Owner+">"+h.Node && d.time > h.From && d.time < h.Until {
			return fault{}, false
		}
	}
	for _, f := range r.faults {
		between := slices.Contains(hinders, f.kind) && f.target == h.Owner+"-"+h.Node
		if between && f.from <= h.Until && f.until >= h.From {
			return f, true
		}
	}
	return fault{}, false
}

// released reports whether the owner of a key called release for its lease.
func (r *run) released(h *holding) bool {
	for _, l := range r.leases[h.Key] {
		if l.Client == h.Owner && l.Token == h.Token && l.Ended == EndedRelease {
			return true
		}
	}
	return false
}

// blameTenure explains a lease kept for too long: the extension with which the
// bound was passed.
func (r *run) blameTenure(l Lease, both span) *Blame {
	source := r.source(l, both.from+r.header.Bounds.Tenure)
	return r.blame(source.end, "BoundedExtensions", "%s went on extending its lease, last at %s when the bound was passed", l.Client, at(source.done))
}

// blameNoExpiry explains a key without an expiry by its SET, if that was seen.
func (r *run) blameNoExpiry(node, key string, look int) *Blame {
	for _, h := range slices.Backward(r.tenures[key]) {
		if h.Node == node {
			return r.blameOrphan(&holding{Tenure: h.Tenure, set: h.set, expires: never})
		}
	}
	return r.blame(look, KeysExpire, "the key on %s has no expiry", node)
}

// blameUnavailable explains a lock that was not granted although it should
// have been: the fault on a minority that held it up, or the nodes it had.
func (r *run) blameUnavailable(o *operation, clear span) *Blame {
	for _, f := range r.faults {
		during := f.from < clear.until && f.until > clear.from
		stops := slices.Contains(stops, f.kind) && slices.Contains(r.header.Nodes, f.target)
		if !during || !(stops || slices.Contains(hinders, f.kind)) {
			continue
		}
		if stops && f.kind != "pause" {
			return r.blame(f.event, MajorityHealthy, "%s, and although a majority was left, %s was not granted the lock without it", f.describe(), o.Process)
		}
		return r.blame(f.event, "NodeTimeout", "%s, and %s went on waiting for it although a majority was left", f.describe(), o.Process)
	}
	return r.blame(o.call, Unexplained, "no fault was on when %s waited", o.Process)
}
