package checker

import "slices"

// waitBlame explains why a client was not granted a lock that stood free.
type waitBlame struct {
	*blamer
	by   *operation
	free span // while it waited
}

// explain looks for a key that lingered on the nodes, or for attempts that got in one
// another's way.
func (b *waitBlame) explain() *Blame {
	h := b.lingerer()
	if h == nil {
		if rivals := b.rivals(); rivals > 0 {
			return b.blame(int(b.by.call), "RetryJitter", "%s and %d more tried again and again for %q, and none got a majority",
				b.name(b.by.process), rivals, b.name(b.by.key))
		}
		return b.unavailable()
	}
	for _, s := range wrongSettings(b.clocks.wall[h.node], b.name(h.node), span{h.from, h.until}) {
		if s.jump < -precision || s.rate < 1 {
			return b.blame(s.event, ClocksAgree, "%s's clock was put back at %s, so %s's key there lived until %s",
				b.name(h.node), at(s.from), b.name(h.owner), at(h.until))
		}
	}
	return b.forOrphan(h)
}

// lingerer gives the key of another that lived longest into a free stretch.
func (b *waitBlame) lingerer() *holding {
	var longest *holding
	for _, h := range b.key(b.by.key).tenures {
		inWay := h.owner != b.by.process && h.from <= b.free.from+b.header.Bounds.Free && h.until > b.free.from
		if inWay && h.until-h.from > b.header.Bounds.Free/2 && (longest == nil || h.until > longest.until) {
			longest = h
		}
	}
	return longest
}

// rivals counts the other clients that tried for the key throughout a stretch.
func (b *waitBlame) rivals() int {
	clients := map[name]bool{}
	for _, other := range b.key(b.by.key).acquires {
		if other.process != b.by.process && other.asked < b.free.until && other.done > b.free.from {
			clients[other.process] = true
		}
	}
	return len(clients)
}

// unavailable explains a lock that was not granted although it should
// have been: the fault on a minority that held it up, or the nodes it had.
func (b *waitBlame) unavailable() *Blame {
	for _, f := range b.faults {
		during := f.from < b.free.until && f.until > b.free.from
		sick := f.class.SickNode() && slices.Contains(b.header.Nodes, f.target)
		if !during || !(sick || f.class.HindersLink()) {
			continue
		}
		if sick && !f.class.Pauses() {
			return b.blame(f.event, MajorityHealthy,
				"%s, and although a majority was left, %s was not granted the lock without it", f.describe(), b.name(b.by.process))
		}
		return b.blame(f.event, "NodeTimeout", "%s, and %s went on waiting for it although a majority was left", f.describe(), b.name(b.by.process))
	}
	return b.blame(int(b.by.call), Unexplained, "no fault was on when %s waited", b.name(b.by.process))
}
