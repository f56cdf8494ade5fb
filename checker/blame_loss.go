package checker

import "fmt"

// marginRate is by how much a clock may be off for the drift margin to cover
// it: the drift factor that redis.io's implementations use.
const marginRate = 0.011

// lossBlame explains why a node let go of a lease's key while its client believed.
type lossBlame struct {
	*blamer
	lease Lease
	lost  *holding
}

// explain says what ended it, and cites how it began.
func (b *lossBlame) explain() *Blame { return b.cause().restingOn(int(b.lost.set)) }

func (b *lossBlame) cause() *Blame {
	node, ender := b.name(b.lost.node), int(b.lost.ender)
	switch b.lost.ended {
	case forgotten:
		return b.blame(ender, NodesRemember, "%s, and came back without %s's key", b.faultAt(ender, node), b.lease.Client)
	case resynced:
		master := b.header.Replicas[node]
		return b.blame(ender, NodesRemember, "%s and came back empty, and %s, its replica, copied that: %s's key was gone there too",
			b.faultAt(ender, master), node, b.lease.Client)
	case flushed:
		return b.blame(ender, NodesRemember, "%s: %s's key was gone", b.faultAt(ender, node), b.lease.Client)
	case evicted:
		return b.blame(ender, NothingEvicts, "%s, and made room by evicting %s's key", b.faultAt(ender, node), b.lease.Client)
	case removed:
		return b.blame(ender, "CompareAndDelete", "%s deleted the key on %s at %s, although it was %s's", b.name(b.lost.by), node,
			at(b.lost.until), b.lease.Client)
	case deleted:
		return b.blame(ender, "FreshToken",
			"the release of an earlier attempt of %s reached %s at %s and deleted the key of the lease, which had the "+
				"same token", b.lease.Client, node, at(b.lost.until))
	case expired:
		return b.expiry()
	}
	return b.blame(max(ender, int(b.lost.set)), NothingRemoves,
		"%s's key was gone from %s by %s, and no command of a client explains it", b.lease.Client, node, at(b.lost.until))
}

// faultAt describes the fault that an event began on a target.
func (b *lossBlame) faultAt(event int, target string) string {
	for _, f := range b.faults {
		if f.event == event && f.target == target {
			return f.describe()
		}
	}
	return fmt.Sprintf("%s was hit at %s", target, at(b.event(event).time))
}

// expiry says why a key expired on a node while its client believed in
// the lease: the extension missed the node, a clock ran differently, the time
// that the operation took was not counted, or no margin was left for drift.
func (b *lossBlame) expiry() *Blame {
	source := b.basis(b.lease, b.lease.From)
	if later := b.basis(b.lease, b.lost.until); later.done > source.done {
		source = later
	}
	if cause := b.minority(source); cause != nil {
		return cause
	}
	skews := b.skews(source)
	if cause := b.wrongClock(source, skews); cause != nil {
		return cause
	}
	took := source.done - source.asked
	if source.done >= b.lost.until || took >= source.done+source.validity-b.lost.until {
		return b.blame(int(source.end), "ElapsedCheck",
			"%s's %s took %s, until %s; the key on %s expired at %s, but %s went on to believe in it until %s",
			b.lease.Client, b.name(source.op), lasting(took), at(source.done), b.name(b.lost.node), at(b.lost.until),
			b.lease.Client, at(b.lease.Until)).
			restingOn(int(source.call), int(source.end))
	}
	return b.blame(int(source.end), "DriftMargin", "the key on %s expired at %s, before %s's validity ended at %s",
		b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until))
}

// minority looks at an extension: did it reach a majority?
func (b *lossBlame) minority(source *operation) *Blame {
	if source.op != opExtend {
		return nil
	}
	reached := map[name]bool{}
	var answers []int
	for _, h := range b.of(b.lease.Key).tenures {
		for _, p := range b.prolonged[h] {
			if p.client == source.process && p.time >= source.asked && p.time <= source.done {
				reached[h.node] = true
				answers = append(answers, p.event)
			}
		}
	}
	if len(reached) == 0 || len(reached) >= b.majority() {
		return nil
	}
	return b.blame(int(source.end), "ExtendMajority", "%s's extension at %s took effect on %d of %d nodes only",
		b.lease.Client, at(source.done), len(reached), len(b.header.Nodes)).restingOn(answers...)
}

// skew is a clock setting that was in force while a lease's key lived.
type skew struct {
	setting
	process string
	jump    int64 // by how much the clock was set forward
}

// skews gives the settings of the node's clock and of the client's that are
// not those of a right clock, and were in force between the set of the key and
// its end.
func (b *lossBlame) skews(source *operation) []skew {
	var found []skew
	found = append(found, wrongSettings(b.clocks.wall[b.lost.node], b.name(b.lost.node), span{b.lost.from, b.lost.until})...)
	belief := span{source.asked, max(b.lease.Until, b.lost.until)}
	return append(found, wrongSettings(b.clocks.of(source.process, source.wall), b.lease.Client, belief)...)
}

// wrongSettings gives the settings of a clock in a span that run at a wrong rate or make
// it jump.
func wrongSettings(c clock, process string, during span) []skew {
	var found []skew
	for i := c.during(during.from); i < len(c) && c.setting(i).from <= during.until; i++ {
		s := skew{setting: c.setting(i), process: process}
		if s.event < 0 {
			continue
		}
		if s.from >= during.from {
			s.jump = s.reading - c.setting(i-1).read(s.from)
		}
		// A clock that is read twice in a row is a little ahead the second time.
		if s.rate != 1 || s.jump > precision || s.jump < -precision {
			found = append(found, s)
		}
	}
	return found
}

// wrongClock blames the first wrong clock; or the rule that copes with it, if
// that was switched off.
func (b *lossBlame) wrongClock(source *operation, skews []skew) *Blame {
	if len(skews) == 0 {
		return nil
	}
	s := skews[0]
	return b.skewed(source, s).restingOn(s.event, int(source.end))
}

func (b *lossBlame) skewed(source *operation, s skew) *Blame {
	switch {
	case s.process == b.lease.Client && source.wall && (s.jump > precision || s.jump < -precision):
		return b.blame(s.event, "MonotonicClock", "%s measured time by its wall clock, which was set by %s at %s", b.lease.Client,
			lasting(s.jump), at(s.from))
	case s.rate != 1 && s.rate > 1-marginRate && s.rate < 1+marginRate:
		return b.blame(int(source.end), "DriftMargin",
			"%s's clock ran at %.4g, which a margin for drift covers, but %s believed until %s and the key on %s expired at %s",
			s.process, s.rate, b.lease.Client, at(b.lease.Until), b.name(b.lost.node), at(b.lost.until))
	case s.rate != 1:
		return b.blame(s.event, ClocksAgree, "%s's clock ran at %.4g: the key on %s expired at %s, while %s believed until %s",
			s.process, s.rate, b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until))
	}
	return b.blame(s.event, ClocksAgree, "%s's clock jumped by %s at %s: the key on %s expired at %s, while %s believed until %s",
		s.process, lasting(s.jump), at(s.from), b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until))
}
