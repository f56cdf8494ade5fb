package traffic

import (
	"fmt"
	"strings"

	"example.org/lockproof/harness/history"
)

// The store that the lock guards is a server like the nodes. Its registers always hold a version, and nothing expires
// there. docs/client-protocol.md ("The store") says which tokens a fenced store accepts, and which versions a store
// that compares.

var storeActionOf = map[history.Effect]action{history.EffectSet: put, history.EffectRead: get}

// check is what a script at the store compares first.
type check uint8

const (
	unchecked check = iota
	fenced          // the token must not be less than the highest that was seen
	compared        // the register must hold the base
)

func newStore() *node {
	n := &node{name: history.StoreName, keys: map[string]*register{}, looked: true}
	n.lookedAt = op{action: put, answer: yes, process: history.StoreName} // the initial version is there from the start
	return n
}

func (r *Reader) checks(c *history.Command) check {
	switch {
	case !strings.HasPrefix(c.Name, "EVAL"):
		return unchecked
	case r.header.FencedStore:
		return fenced
	}
	return compared
}

// passesCheck reports whether the store accepts an operation.
func (o *op) passesCheck(s state) bool {
	switch o.check {
	case fenced:
		return o.fence >= s.fence
	case compared:
		return o.base == s.token
	}
	return true
}

func (j registerModel) put(s state, o *op) []state {
	next := state{is: held, token: o.token, fence: s.fence, first: never, last: never}
	if o.check == fenced {
		next.fence = o.fence
	}
	passes := s.is == unknown || o.passesCheck(s)
	fails := o.check != unchecked && (s.is == unknown || !o.passesCheck(s))
	switch {
	case o.answer == yes && passes:
		return []state{next}
	case o.answer == silent && passes:
		return []state{s, next}
	case o.answer == silent, o.answer == no && fails:
		return []state{s}
	}
	return nil
}

// got applies a read at the store. At a fenced store a read leaves its token.
func (j registerModel) got(s state, o *op) []state {
	next := s
	if o.check == fenced {
		next.fence = o.fence
	}
	switch passes := s.is == unknown || o.passesCheck(s); {
	case o.answer == silent && passes:
		return []state{s, next}
	case o.answer == silent, o.answer == no && o.check == fenced && !(s.is == held && passes):
		return []state{s}
	case o.answer == no && o.check == fenced, !passes:
		return nil
	case s.is == unknown && o.check == fenced && !o.shortened():
		return []state{{is: held, token: o.seen, fence: o.fence, first: never, last: never}}
	case s.is == unknown || o.shows(s.token):
		return []state{next}
	}
	return nil
}

const ellipsis = "..." // ends a value that the history shortens

func (o *op) shortened() bool { return strings.HasSuffix(o.seen, ellipsis) }

// shows reports whether a read's reply is that version, as far as the history has it.
func (o *op) shows(version string) bool {
	return o.seen == version || o.shortened() && strings.HasPrefix(version, strings.TrimSuffix(o.seen, ellipsis))
}

// acceptance is a version that the store accepted for a key.
type acceptance struct{ key, version string }

func (r *Reader) recordAcceptance(o *op, e *history.Event) {
	if o.action == put && o.answer == yes {
		r.writes[acceptance{strings.TrimPrefix(e.Command.Key, history.RegisterPrefix),
			o.token}] = true
	}
}

// checkWrite compares the outcome that a client reports for its write with the store's reply.
func (r *Reader) checkWrite(i int, e *history.Event) {
	if e.Op != history.OpWrite || e.Type == history.TypeInvoke || !r.toStore {
		return
	}
	w := acceptance{e.Key, e.Value}
	passed := r.writes[w]
	delete(r.writes, w)
	what := ""
	switch {
	case e.Type == history.TypeOK && !passed:
		what = "was acknowledged, but no link shows that the store accepted it"
	case e.Type == history.TypeFail && passed:
		what = "failed, but the store had accepted it"
	default:
		return
	}
	r.report.add(Finding{About: Cluster, Time: e.Time, Process: e.Process, Key: e.Key, Event: i,
		What: fmt.Sprintf("at %s, its write %s of %q %s", formatTime(e.Time), e.Value, e.Key, what)})
}
