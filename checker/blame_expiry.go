package checker

// marginRate is by how much a clock may be off for the drift margin to cover
// it: the drift factor that redis.io's implementations use.
const marginRate = 0.011

// explainExpiry says why a key expired on a node while its client believed in
// the lease: the extension missed the node, a clock ran differently, the time
// that the operation took was not counted, or no margin was left for drift.
func (r *run) explainExpiry(l Lease, h *holding) *Blame {
	source := r.source(l, l.From)
	if later := r.source(l, h.until); later.done > source.done {
		source = later
	}
	if b := r.blameMinority(l, source); b != nil {
		return b
	}
	skews := r.skews(l, h, source)
	if b := r.blameSkew(l, h, source, skews); b != nil {
		return b
	}
	took := source.done - source.asked
	if source.done >= h.until || took >= source.done+source.validity-h.until {
		return r.blame(int(source.end), "ElapsedCheck",
			"%s's %s took %s, until %s; the key on %s expired at %s, but %s went on to believe in it until %s",
			l.Client, r.name(source.op), lasting(took), at(source.done), r.name(h.node), at(h.until), l.Client, at(l.Until))
	}
	return r.blame(int(source.end), "DriftMargin", "the key on %s expired at %s, before %s's validity ended at %s",
		r.name(h.node), at(h.until), l.Client, at(l.Until))
}

// blameMinority looks at an extension: did it reach a majority?
func (r *run) blameMinority(l Lease, source *operation) *Blame {
	if source.op != opExtend {
		return nil
	}
	reached := map[name]bool{}
	for _, h := range r.of(l.Key).tenures {
		for _, p := range r.prolonged[h] {
			if p.client == source.process && p.time >= source.asked && p.time <= source.done {
				reached[h.node] = true
			}
		}
	}
	if len(reached) == 0 || len(reached) >= r.majority() {
		return nil
	}
	return r.blame(int(source.end), "ExtendMajority", "%s's extension at %s took effect on %d of %d nodes only",
		l.Client, at(source.done), len(reached), len(r.header.Nodes))
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
func (r *run) skews(l Lease, h *holding, source *operation) []skew {
	var found []skew
	found = append(found, wrongSettings(r.clocks.wall[h.node], r.name(h.node), span{h.from, h.until})...)
	belief := span{source.asked, max(l.Until, h.until)}
	return append(found, wrongSettings(r.clocks.of(source.process, source.wall), l.Client, belief)...)
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

// blameSkew blames the first wrong clock; or the rule that copes with it, if
// that was switched off.
func (r *run) blameSkew(l Lease, h *holding, source *operation, skews []skew) *Blame {
	if len(skews) == 0 {
		return nil
	}
	s := skews[0]
	switch {
	case s.process == l.Client && source.wall && (s.jump > precision || s.jump < -precision):
		return r.blame(s.event, "MonotonicClock", "%s measured time by its wall clock, which was set by %s at %s", l.Client,
			lasting(s.jump), at(s.from))
	case s.rate != 1 && s.rate > 1-marginRate && s.rate < 1+marginRate:
		return r.blame(int(source.end), "DriftMargin", "%s's clock ran at %.4g, which a margin for drift covers, but %s believed until %s and the key on %s expired at %s",
			s.process, s.rate, l.Client, at(l.Until), r.name(h.node), at(h.until))
	case s.rate != 1:
		return r.blame(s.event, ClocksAgree, "%s's clock ran at %.4g: the key on %s expired at %s, while %s believed until %s",
			s.process, s.rate, r.name(h.node), at(h.until), l.Client, at(l.Until))
	}
	return r.blame(s.event, ClocksAgree, "%s's clock jumped by %s at %s: the key on %s expired at %s, while %s believed until %s",
		s.process, lasting(s.jump), at(s.from), r.name(h.node), at(h.until), l.Client, at(l.Until))
}
