package checker

import (
	"fmt"
	"slices"
	"time"
)

// marginRate is by how much a clock may be off for the drift margin to cover
// it: the drift factor that redis.io's implementations use.
const marginRate = 0.011

// leastMargin is what the same implementations take off beside the drift factor.
const leastMargin = 2 * time.Millisecond

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
		if b.namesNoToken(ender) {
			return b.blame(ender, "CompareAndDelete",
				"a release of %s's that names no token reached %s at %s and deleted the key of its present lease", b.lease.Client,
				node, at(b.lost.until))
		}
		return b.blame(ender, "FreshToken",
			"the release of an earlier attempt of %s reached %s at %s and deleted the key of the lease, which had the "+
				"same token", b.lease.Client, node, at(b.lost.until))
	case expired:
		return b.expiry()
	}
	return b.blame(max(ender, int(b.lost.set)), NothingRemoves,
		"%s's key was gone from %s by %s, and no command of a client explains it", b.lease.Client, node, at(b.lost.until))
}

// namesNoToken reports whether the deletion at an event is of whichever key is there.
func (b *lossBlame) namesNoToken(event int) bool {
	return slices.ContainsFunc(b.deletions(), func(d deletion) bool { return d.event == event && d.token == "" })
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
// the lease: the extension missed the node, a clock ran differently than it may, the
// time that the operation took was not counted, no margin was left for drift, or none
// of these.
func (b *lossBlame) expiry() *Blame {
	source := b.basis(b.lease, max(b.lease.From, b.lost.until))
	if cause := b.minority(source); cause != nil {
		return cause
	}
	wrong, drifting := b.skews(source)
	if len(wrong) > 0 {
		return b.skewed(source, wrong[0]).restingOn(wrong[0].event, int(source.end))
	}
	took, tooLong := source.done-source.asked, source.done+source.validity-b.lost.until
	if source.done >= b.lost.until || b.uncounted(source) && took >= tooLong-b.margin() || took >= tooLong && len(drifting) == 0 {
		return b.blame(int(source.end), "ElapsedCheck",
			"%s's %s took %s, until %s; the key on %s expired at %s, but %s went on to believe in it until %s",
			b.lease.Client, b.name(source.op), lasting(took), at(source.done), b.name(b.lost.node), at(b.lost.until),
			b.lease.Client, at(b.lease.Until)).
			restingOn(int(source.call), int(source.end))
	}
	if len(drifting) > 0 {
		return b.drifted(source, drifting[0]).restingOn(drifting[0].event, int(source.end))
	}
	if tooLong > b.margin() {
		return b.blame(int(source.end), Unexplained,
			"the key on %s expired at %s, and %s believed until %s: longer than drift and the time that its %s took can explain",
			b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until), b.name(source.op))
	}
	return b.blame(int(source.end), "DriftMargin", "the key on %s expired at %s, before %s's validity ended at %s",
		b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until))
}

// uncounted reports whether a client believes for longer than a TTL after it has asked,
// by its own clock and by more than a margin for drift takes off: then it has not
// counted what the answers took.
func (b *lossBlame) uncounted(source *operation) bool {
	clock := b.clocks.of(source.process, source.wall)
	return clock.at(source.done+source.validity)-clock.at(source.asked) > b.header.TTL+b.margin()
}

// margin is what a lock takes off its validity for drift.
func (b *lossBlame) margin() int64 {
	return int64(float64(b.header.TTL)*marginRate) + int64(leastMargin)
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
	rule := "ExtendMajority"
	if b.off("Majority") && !b.off(rule) { // an extension needs as many nodes as a grant
		rule = "Majority"
	}
	return b.blame(int(source.end), rule, "%s's extension at %s took effect on %d of %d nodes only",
		b.lease.Client, at(source.done), len(reached), len(b.header.Nodes)).restingOn(answers...)
}

// skew is a clock setting that was in force while a lease's key lived.
type skew struct {
	setting
	process string
	jump    int64 // by how much the clock was set forward
}

// skews gives the settings of the node's clock and of the client's that make the key
// end sooner or the belief later than with right clocks, and were in force between the
// set of the key and its end: those that are wrong, and those that drift by no more than
// a margin covers.
func (b *lossBlame) skews(source *operation) (wrong, drifting []skew) {
	far := wrongSettings(b.clocks.wall[b.lost.node], b.name(b.lost.node), span{b.lost.from, b.lost.until})
	belief := span{source.asked, max(b.lease.Until, b.lost.until)}
	near := wrongSettings(b.clocks.of(source.process, source.wall), b.lease.Client, belief)
	for _, s := range slices.Concat(far, near) {
		jumps, runs := s.forward(), s.rate > 1
		if s.process == b.lease.Client {
			jumps, runs = s.back(), s.rate < 1
		}
		switch {
		case jumps, runs && !s.withinMargin():
			wrong = append(wrong, s)
		case runs:
			drifting = append(drifting, s)
		}
	}
	return wrong, drifting
}

// forward and back report whether a clock was set, and to which side. One that is read twice
// in a row is a little ahead the second time.
func (s skew) forward() bool { return s.jump > precision }
func (s skew) back() bool    { return s.jump < -precision }

// withinMargin reports whether a margin for drift covers the rate.
func (s skew) withinMargin() bool { return s.rate > 1-marginRate && s.rate < 1+marginRate }

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
		if s.rate != 1 || s.forward() || s.back() {
			found = append(found, s)
		}
	}
	return found
}

// skewed blames a wrong clock; or the rule that copes with it, if that was not kept.
func (b *lossBlame) skewed(source *operation, s skew) *Blame {
	switch jumps := s.forward() || s.back(); {
	case s.process == b.lease.Client && source.wall && jumps:
		return b.blame(s.event, "MonotonicClock", "%s measured time by its wall clock, which was set by %s at %s", b.lease.Client,
			lasting(s.jump), at(s.from))
	case !jumps:
		return b.blame(s.event, ClocksAgree, "%s's clock ran at %.4g: the key on %s expired at %s, while %s believed until %s",
			s.process, s.rate, b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until))
	}
	return b.blame(s.event, ClocksAgree, "%s's clock jumped by %s at %s: the key on %s expired at %s, while %s believed until %s",
		s.process, lasting(s.jump), at(s.from), b.name(b.lost.node), at(b.lost.until), b.lease.Client, at(b.lease.Until))
}

// drifted blames the margin that covers a clock's rate.
func (b *lossBlame) drifted(source *operation, s skew) *Blame {
	return b.blame(int(source.end), "DriftMargin",
		"%s's clock ran at %.4g, which a margin for drift covers, but %s believed until %s and the key on %s expired at %s",
		s.process, s.rate, b.lease.Client, at(b.lease.Until), b.name(b.lost.node), at(b.lost.until))
}
