package checker

import (
	"slices"

	"lockproof/harness/history"
)

// stuck explains a lock that was not granted, or a release that did not return, by a node
// that was waited for before the others were asked: a fault kept it from the client, the
// client sent it something then, and from there on it asked no other node anything for most
// of the stretch. A lock that asks all nodes at once, or goes on after a timeout, asks others.
func (b *waitBlame) stuck() *Blame {
	for _, f := range b.faults {
		node, mine := b.inTheWay(f)
		if !mine || b.answeredUnder(f, node) {
			continue
		}
		sent := b.sentUnder(f, node)
		if waited, events := b.silence(node, sent); 2*total(waited) > b.free.length() {
			before := slices.DeleteFunc(sent, func(t int64) bool { return t > waited[0].from })
			return b.blame(f.event, NodeTimeout,
				"%s, and %s went on waiting for it: it sent it a command at %s, and then nothing to any other node for %s",
				f.describe(), b.name(b.by.process), at(before[len(before)-1]), lasting(total(waited))).restingOn(events...)
		}
	}
	return nil
}

// sentUnder gives the times at which the client sent a node something under a fault, from
// its call on, as far as is known: what a cut link held is counted there, and what reaches a
// node that hangs is a command without an answer.
func (b *waitBlame) sentUnder(f fault, node string) []int64 {
	times := slices.Clone(f.sent)
	for _, x := range b.exchanges() {
		if x.client == b.name(b.by.process) && x.node == node && x.asked >= f.from && x.asked < f.until {
			times = append(times, x.asked)
		}
	}
	slices.Sort(times)
	from := min(b.by.asked, b.free.from)
	return slices.DeleteFunc(times, func(t int64) bool { return t < from || t >= b.free.until })
}

// silence gives the parts of the stretch between something that the client sent a node and
// the next that it asked another, with the events of those. Where another's answer was still
// to come, it asks nodes side by side.
func (b *waitBlame) silence(node string, sent []int64) (spans []span, events []int) {
	for _, t := range sent {
		s, next := span{max(t, b.free.from), b.free.until}, -1
		for _, x := range b.exchanges() {
			if x.client != b.name(b.by.process) || x.node == node || x.answered <= t || x.asked >= s.until {
				continue
			}
			s.until, next = x.asked, x.command
		}
		if s.until > s.from {
			spans, events = append(spans, s), append(events, next)
		}
	}
	return union(spans), events
}

// lost explains a lock that was not granted, or a release that did not return, by a message
// that a fault lost and whose answer was waited for: from when that could have come on, the
// client asked nobody anything for most of the stretch.
func (b *waitBlame) lost() *Blame {
	for _, f := range b.faults {
		node, mine := b.inTheWay(f)
		if !mine || f.class != history.MessageLost {
			continue
		}
		for _, t := range b.sentUnder(f, node) {
			if quiet := b.quiet(t + b.reach().prompt()); 2*quiet.length() > b.free.length() {
				return b.blame(f.event, NodeTimeout,
					"%s, and %s went on waiting for an answer to what it had sent at %s: it sent nothing to any node for %s",
					f.describe(), b.name(b.by.process), at(t), lasting(quiet.until-t))
			}
		}
	}
	return nil
}

// quiet is the part of the stretch from a time on until the client asked any node anything.
func (b *waitBlame) quiet(from int64) span {
	s := span{max(from, b.free.from), b.free.until}
	for _, x := range b.exchanges() {
		if x.client == b.name(b.by.process) && x.asked >= s.from {
			s.until = min(s.until, x.asked)
		}
	}
	return s
}
