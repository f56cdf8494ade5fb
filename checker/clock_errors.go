package checker

import (
	"slices"
)

// clockErrorSpans gives when a clock that a fault set led astray what goes by it: at the moment of a
// jump, and for as long as it runs at a wrong rate. What is timed from a jump on, on a clock
// that runs on at the true rate, is timed right. Where the history does not tell how it was
// set, that is as long as the fault lasted.
func (e *faultImpact) clockErrorSpans(f fault) []span {
	settings := slices.Concat(e.settings(e.clocks.wall[f.target], f), e.settings(e.clocks.monotonic[f.target], f))
	if len(settings) == 0 {
		return []span{f.possible()}
	}
	var spans []span
	for _, s := range settings {
		switch {
		case s.rate != 1:
			spans = append(spans, span{f.since, f.until})
		case s.before != 1: // it was put right
			spans = append(spans, f.possible())
		case s.jump > precision || s.jump < -precision:
			spans = append(spans, span{f.since, s.from})
		}
	}
	return spans
}

// setClock is how a fault set a clock that ran at some rate before.
type setClock struct {
	setting
	jump   int64 // how far the clock jumped then
	before float64
}

// settings gives how a fault set a clock of its target: a clock is set, and read, before
// the fault is told of.
func (e *faultImpact) settings(c clock, f fault) []setClock {
	var found []setClock
	for i := range c {
		if c[i].from < f.since || c[i].from > f.from {
			continue
		}
		before := c.setting(i - 1)
		found = append(found, setClock{c[i], c[i].reading - before.read(c[i].from), before.rate})
	}
	return found
}
