package checker

// orphanBlame explains a key that nobody's lease needs any more.
type orphanBlame struct {
	*blamer
	left *holding
}

// explain tells whether it was set after its owner had released it, or never released.
func (b *orphanBlame) explain() *Blame {
	if b.left.expires >= never {
		return b.blame(int(b.left.set), KeysExpire, "%s set the key on %s at %s without an expiry", b.name(b.left.owner), b.name(b.left.node), at(b.left.from))
	}
	if t, early := b.releasedBefore(); early {
		return b.blame(int(b.left.set), "ReleaseAfterSet", "%s's SET took the key on %s at %s, after its release had been there at %s", b.name(b.left.owner), b.name(b.left.node), at(b.left.from), at(t))
	}
	if f, found := b.undelivered(); found && !b.off("ReleaseEverywhere") {
		return b.blame(f.event, ReleaseArrives, "%s, so %s could not give back its key there, set at %s, before %s",
			f.describe(), b.name(b.left.owner), at(b.left.from), at(b.left.until))
	}
	if b.released() {
		return b.blame(int(b.left.set), "ReleaseEverywhere", "%s's release left its key on %s, set at %s, until %s",
			b.name(b.left.owner), b.name(b.left.node), at(b.left.from), at(b.left.until))
	}
	return b.blame(int(b.left.set), "ReleaseEverywhere", "%s's attempt ended without a lease, but its key stayed on %s from %s to %s", b.name(b.left.owner), b.name(b.left.node), at(b.left.from), at(b.left.until))
}

// releasedBefore finds a delete of a token that the node answered before the
// token was set there.
func (b *orphanBlame) releasedBefore() (int64, bool) {
	token := b.text(b.left.token)
	for _, d := range b.deletions() {
		if d.answered && d.event < int(b.left.set) && d.link == b.link(">") && d.token == token && token != "" {
			return d.time, true
		}
	}
	return 0, false
}

// undelivered finds the fault that kept a key's owner from its node, if no
// delete of the owner's reached the node while the key was there.
func (b *orphanBlame) undelivered() (fault, bool) {
	for _, d := range b.deletions() {
		if !d.answered && d.link == b.link(">") && d.time > b.left.from && d.time < b.left.until {
			return fault{}, false
		}
	}
	for _, f := range b.faults {
		between := f.class.HindersLink() && f.target == b.link("-")
		if between && f.from <= b.left.until && f.until >= b.left.from {
			return f, true
		}
	}
	return fault{}, false
}

// link names the link from a key's owner to its node, as commands (>) or
// faults (-) do.
func (b *orphanBlame) link(arrow string) string {
	return b.name(b.left.owner) + arrow + b.name(b.left.node)
}

// released reports whether the owner of a key called release for its lease.
func (b *orphanBlame) released() bool {
	for _, l := range b.key(b.left.key).leases {
		if l.client == b.left.owner && l.grant.token == b.left.token && l.ended == byRelease {
			return true
		}
	}
	return false
}
