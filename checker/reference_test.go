package checker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
)

// This is a second checker, for the tests. It was written from docs/history.md and the meaning of the properties alone,
// and shares no code with the first, not even the types of a line. It is as simple as possible and need not be fast.

// line is a line of a history, as docs/history.md describes it.
type line struct {
	Time, Fence, Validity     int64
	ID, Lease                 int
	Process, Type, Op, Reason string
	Key, Value, Base, Token   string
	Wall                      bool
	Command                   struct {
		Serial             int64
		Key, Token, Effect string
		Done               bool
	}
	Header struct {
		Fencing bool
		Bounds  struct{ Cancel int64 }
	}
	Clock struct {
		Reading int64
		Rate    float64
		Wall    bool
	}
	Fault struct {
		Kind, Phase string
		Targets     []string
		Effective   bool
	}
}

// parse reads a history's lines. Lines of one time keep their order.
func parse(text []byte) ([]line, error) {
	var lines []line
	for text := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, err
		}
		at := len(lines)
		for at > 1 && lines[at-1].Time > l.Time { // the header stays first
			at--
		}
		lines = append(lines[:at], append([]line{l}, lines[at:]...)...)
	}
	return lines, nil
}

// believed is an interval of a client's lease.
type believed struct {
	key, lease string
	from, to   int64
}

// broken names the properties that a history violates, of those judged here.
func broken(lines []line) (names string) {
	for name, is := range map[string]func([]line) bool{"mutual-exclusion": overlaps, "protected-data": damaged,
		"fencing": disordered, "cancellation": unheeded} {
		if is(lines) {
			names += " " + name
		}
	}
	return strings.Join(slices.Sorted(slices.Values(strings.Fields(names))), " ")
}

// overlaps reports whether two leases on one key overlap.
func overlaps(lines []line) bool {
	var all []believed
	for i, l := range lines {
		if l.Type == "ok" && l.Op == "acquire" {
			all = append(all, stretches(lines, i)...)
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.key == b.key && a.lease != b.lease && max(a.from, b.from) < min(a.to, b.to) {
				return true
			}
		}
	}
	return false
}

// stretches returns the intervals of an acquire's lease.
func stretches(lines []line, acquire int) []believed {
	grant, end := lines[acquire], end(lines, acquire)
	var all []believed
	for i, l := range lines {
		of := l.Process == grant.Process && l.Type == "ok" && (i == acquire || l.Op == "extend" && l.Lease == grant.ID)
		if of && (l.Time < end || i == acquire) {
			all = append(all, believed{grant.Key, fmt.Sprint(grant.Process, grant.ID), l.Time, min(end, passed(lines, i))})
		}
	}
	for i := 1; i < len(all); i++ { // an extension replaces the rest of the lease
		all[i-1].to = min(all[i-1].to, all[i].from)
	}
	return all
}

// end is when a lease ends, whatever its validity: by a release, a loss, or its client's kill.
func end(lines []line, acquire int) int64 {
	grant, first := lines[acquire], int64(math.MaxInt64)
	for i, l := range lines {
		mine := l.Process == grant.Process && l.Lease == grant.ID
		switch {
		case mine && (l.Type == "invoke" && l.Op == "release" || l.Type == "lost"),
			mine && l.Type == "fail" && l.Op == "extend" && l.Reason == "lost",
			i > acquire && l.Type == "fault" && l.Fault.Kind == "kill" && l.Fault.Effective &&
				slices.Contains(l.Fault.Targets, grant.Process):
			first = min(first, l.Time)
		}
	}
	return first
}

// passed is the first time at which a line's validity has passed on its client's clock.
func passed(lines []line, at int) int64 {
	l := lines[at]
	since, reading, rate, target := int64(0), int64(0), 1.0, int64(math.MaxInt64) // of the clock, as it runs
	if l.Validity == 0 {
		return l.Time
	}
	for i, c := range lines {
		if i == at {
			target = reading + int64(math.Round(float64(l.Time-since)*rate)) + l.Validity
		}
		if c.Type != "clock" || c.Process != l.Process || c.Clock.Wall != l.Wall {
			continue
		}
		if i > at {
			if t := max(l.Time, since, since+int64(math.Ceil(float64(target-reading)/rate))); t < c.Time {
				return t
			}
		}
		since, reading, rate = c.Time, c.Clock.Reading, c.Clock.Rate
	}
	return max(l.Time, since, since+int64(math.Ceil(float64(target-reading)/rate)))
}

// touch is an access to the store that may have taken effect.
type touch struct {
	write       bool
	value, base string // what a read found stands in base
	fence       int64
	from, to    int64 // it took effect in this interval
	acked, took bool  // acknowledged to the client; accepted by the store
}

// damaged reports whether no order of the accesses explains what was read and replaced, or a stale write was accepted.
func damaged(lines []line) bool {
	for _, all := range touches(lines) {
		if stale(all) || !explained("", all) {
			return true
		}
	}
	return false
}

// touches returns the accesses by key. One without an outcome, or with an unknown one, may have taken effect at any
// time since, or never.
func touches(lines []line) map[string][]touch {
	all := map[string][]touch{}
	for i, l := range lines {
		if l.Type != "invoke" || l.Op != "read" && l.Op != "write" {
			continue
		}
		t := touch{write: l.Op == "write", value: l.Value, base: l.Base, fence: l.Fence, from: l.Time, to: math.MaxInt64}
		outcome := "info"
		for _, o := range lines[i+1:] {
			if o.Process == l.Process && o.ID == l.ID && o.Op == l.Op && o.Type != "invoke" {
				outcome = o.Type
				if o.Type == "ok" {
					t.to, t.acked = o.Time, true
				}
				if !t.write {
					t.base = o.Value
				}
				break
			}
		}
		if outcome == "fail" || !t.write && !t.acked {
			continue
		}
		if t.write {
			carried(&t, l, lines[i:])
		}
		all[l.Key] = append(all[l.Key], t)
	}
	return all
}

// carried adds what the store's links show of a write.
func carried(t *touch, l line, after []line) {
	serial := int64(0)
	for _, c := range after {
		if c.Process != l.Process+">store" || c.Command.Key != "value:"+l.Key || c.Command.Token != t.value ||
			c.Command.Effect != "set" {
			continue
		}
		if c.Type == "command" && serial == 0 {
			serial, t.from = c.Command.Serial, c.Time
		}
		if c.Type == "reply" && c.Command.Serial == serial && c.Command.Done {
			t.to, t.took = min(t.to, c.Time), true
		}
	}
}

// stale reports whether a write took effect although a newer token's write had been accepted before it reached the
// store.
func stale(all []touch) bool {
	return slices.ContainsFunc(all, func(w touch) bool {
		return w.write && w.fence != 0 && (w.acked || w.took || saw(w.value, all)) &&
			slices.ContainsFunc(all, func(other touch) bool {
				return (other.acked || other.took) && other.fence > w.fence && other.to < w.from
			})
	})
}

// saw reports whether an access saw a version, or one that was derived from it.
func saw(value string, all []touch) bool {
	return slices.ContainsFunc(all, func(t touch) bool {
		return t.base == value && (t.acked || t.took || t.write &&
			saw(t.value, all))
	})
}

// explained reports whether the accesses have an order that agrees with their times, if the register has this value:
// each finds the version that it read or was derived from.
func explained(value string, left []touch) bool {
	must := false
	for i, t := range left {
		must = must || t.acked || t.took
		preceded := slices.ContainsFunc(left, func(other touch) bool { return other.to < t.from })
		if t.base != value || preceded {
			continue
		}
		rest := append(append([]touch(nil), left[:i]...), left[i+1:]...)
		if !t.write {
			return explained(value, rest) // reading as early as possible changes nothing
		}
		// A write may replace an unacknowledged one without knowing it.
		if !t.acked && t.took && explained(value, rest) || explained(t.value, rest) {
			return true
		}
	}
	return !must
}

func disordered(lines []line) bool {
	if len(lines) == 0 || !lines[0].Header.Fencing {
		return false
	}
	for i, a := range lines {
		for j, b := range lines {
			if a.Type != "ok" || b.Type != "ok" || a.Op != "acquire" || b.Op != "acquire" || a.Key != b.Key {
				continue
			}
			if a.Fence == 0 || i != j && a.Fence == b.Fence || a.Fence > b.Fence && earliest(lines, j) > a.Time {
				return true
			}
		}
	}
	return false
}

// earliest is the earliest possible time of a grant: its request, or a node's receipt of the first command that sets
// its key.
func earliest(lines []line, grant int) (time int64) {
	g, asked := lines[grant], false
	for _, l := range lines[:grant] {
		switch {
		case l.Type == "invoke" && l.Process == g.Process && l.ID == g.ID:
			time, asked = l.Time, true
		case asked && g.Token != "" && l.Type == "command" && strings.HasPrefix(l.Process, g.Process+">") &&
			l.Command.Effect == "set" && l.Command.Key == g.Key && l.Command.Token == g.Token:
			return l.Time
		}
	}
	return time
}

// unheeded reports whether an acquire, extension or release lasted too long, without a pause, after its caller had
// cancelled it.
func unheeded(lines []line) bool {
	for i, l := range lines {
		since, cancelled, paused, bound := int64(0), false, false, lines[0].Header.Bounds.Cancel
		ours := l.Op == "acquire" || l.Op == "extend" || l.Op == "release"
		for j, over := i+1, l.Type != "invoke" || !ours; j < len(lines) && !over; j++ {
			o := lines[j]
			if cancelled && !paused && bound > 0 && o.Time-since > bound {
				return true
			}
			stops := o.Type == "fault" && slices.Contains(o.Fault.Targets, l.Process)
			over = o.Process == l.Process && o.ID == l.ID || stops && o.Fault.Kind == "kill"
			if o.Process == l.Process && o.Type == "cancel" && !cancelled {
				since, cancelled = o.Time, true
			} else if stops && o.Fault.Kind == "pause" {
				paused, since = o.Fault.Phase == "begin", o.Time
			}
		}
	}
	return false
}
