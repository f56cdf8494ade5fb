package checker

import (
	"slices"

	"lockproof/harness/history"
)

// orphanBlame explains a key that nobody's lease needs any more.
type orphanBlame struct {
	*blamer
	left *holding
}

// explain tells whether it was set after its owner had released it, or never released.
func (b *orphanBlame) explain() *Blame {
	if b.left.expires >= never {
		return b.blame(int(b.left.set), KeysExpire, "%s set the key on %s at %s without an expiry", b.name(b.left.owner),
			b.name(b.left.node), at(b.left.from))
	}
	if t, early := b.releasedBefore(); early {
		return b.blame(int(b.left.set), "ReleaseAfterSet", "%s's SET took the key on %s at %s, after its release had been "+
			"there at %s", b.name(b.left.owner), b.name(b.left.node), at(b.left.from), at(t))
	}
	if f, killed := b.killed(); killed {
		return b.blame(f.event, ReleaseArrives, "%s was killed at %s and could not give back its key on %s, set at %s, before %s",
			b.name(b.left.owner), at(f.from), b.name(b.left.node), at(b.left.from), at(b.left.until)).restingOn(int(b.left.set))
	}
	if d, reached := b.tried(); reached {
		return b.blame(int(b.left.set), Unexplained, "%s's release reached %s at %s, but its key stayed there until %s",
			b.name(b.left.owner), b.name(b.left.node), at(d.time), at(b.left.until)).restingOn(d.event)
	}
	if f, found := b.undelivered(); found && !b.off("ReleaseEverywhere") {
		if other := b.keptInReach(); other != nil {
			return b.blame(int(b.left.set), "ReleaseEverywhere", "%s gave back nothing of what its attempt took: its key stayed on %s "+
				"from %s to %s, and until it expired on %s, which it could reach all the time", b.name(b.left.owner), b.name(b.left.node),
				at(b.left.from), at(b.left.until), b.name(other.node)).restingOn(int(other.set))
		}
		return b.blame(f.event, ReleaseArrives, "%s, so %s could not give back its key there, set at %s, before %s",
			f.describe(), b.name(b.left.owner), at(b.left.from), at(b.left.until)).restingOn(int(b.left.set))
	}
	if b.released() {
		return b.blame(int(b.left.set), "ReleaseEverywhere", "%s's release left its key on %s, set at %s, until %s",
			b.name(b.left.owner), b.name(b.left.node), at(b.left.from), at(b.left.until))
	}
	return b.blame(int(b.left.set), "ReleaseEverywhere", "%s's attempt ended without a lease, but its key stayed on %s "+
		"from %s to %s", b.name(b.left.owner), b.name(b.left.node), at(b.left.from), at(b.left.until))
}

// killed finds the kill of a key's owner that came before it had any reason to give the
// key back: its attempt was under way, or it held the lease.
func (b *orphanBlame) killed() (fault, bool) {
	for _, f := range b.faults {
		if f.class == history.ClientKilled && f.target == b.name(b.left.owner) && f.from < b.left.until {
			return f, !b.overBefore(f.from)
		}
	}
	return fault{}, false
}

// overBefore reports whether the owner's attempt for the key had ended without a grant, or
// its lease by its release, before a time.
func (b *orphanBlame) overBefore(t int64) bool {
	for _, o := range b.key(b.left.key).acquires {
		if o.process != b.left.owner || o.asked > b.left.from {
			continue
		}
		given := o.ok() && o.token == b.left.token && o.ended == byRelease && o.stopped < t
		if given || !o.ok() && o.outcome != underWay && o.done < t && o.done >= b.left.from {
			return true
		}
	}
	return false
}

// tried finds a delete of the owner's token that reached the node while the key was there.
func (b *orphanBlame) tried() (deletion, bool) {
	for _, d := range b.deletions() {
		if !d.answered && d.link == b.link(">") && d.token == b.text(b.left.token) && d.time > b.left.from && d.time < b.left.until {
			return d, true
		}
	}
	return deletion{}, false
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

// undelivered finds the fault that stood between a key's owner and its node. One that took
// the answer to its SET did not: a release goes through.
func (b *orphanBlame) undelivered() (fault, bool) {
	for _, f := range b.faults {
		between := f.class.HindersLink() && f.target == b.link("-") && !b.reach().far(f) && !f.takesAnswer()
		if between && f.from < b.left.until && f.until > b.left.from {
			return f, true
		}
	}
	return fault{}, false
}

// keptInReach finds another node on which an attempt that had ended without a lease left its
// key until it expired, though no fault was ever between: no release was sent there, so that
// it is no fault that kept one from the first. Nil: there is none.
func (b *orphanBlame) keptInReach() *holding {
	leased := func(o *operation) bool { return o.ok() && o.process == b.left.owner && o.token == b.left.token }
	k := b.key(b.left.key)
	if b.left.token == 0 || slices.ContainsFunc(k.acquires, leased) {
		return nil
	}
	for _, h := range k.tenures {
		if h.owner != b.left.owner || h.token != b.left.token || h.node == b.left.node || h.ended != expired || !b.overBefore(h.until) {
			continue
		}
		other := &orphanBlame{b.blamer, h}
		if _, tried := other.tried(); !tried && !other.hinderedAtAll() {
			return h
		}
	}
	return nil
}

// hinderedAtAll reports whether any fault may have been between a key's owner and its node,
// or had stopped one of them, while the key was there.
func (b *orphanBlame) hinderedAtAll() bool {
	owner, node := b.name(b.left.owner), b.name(b.left.node)
	return slices.ContainsFunc(b.faults, func(f fault) bool {
		concerns := f.target == b.link("-") || f.target == owner || f.target == node
		return concerns && f.possible().from < b.left.until && f.until > b.left.from
	})
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
