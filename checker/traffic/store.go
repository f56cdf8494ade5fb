package traffic

import (
	"fmt"
	"strings"

	"example.org/lockproof/harness/history"
)

// The store that the lock guards is a server as the nodes are, whose registers hold a
// version each: nothing expires there, and it is never without them. What a fenced
// store has seen of fencing tokens, and what one that compares lets pass, is as
// docs/client-protocol.md says ("The store").

// storeActionOf are what commands do there.
var storeActionOf = map[history.Effect]action{history.EffectSet: put, history.EffectRead: get}

// check is what a script at the store compares before it does anything.
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

// checks tells what a command's script compares.
func (r *Reader) checks(c *history.Command) check {
	switch {
	case !strings.HasPrefix(c.Name, "EVAL"):
		return unchecked
	case r.header.FencedStore:
		return fenced
	}
	return compared
}

// accepted: the store lets an operation pass.
func (o *op) accepted(s state) bool {
	switch o.check {
	case fenced:
		return o.fence >= s.fence
	case compared:
		return o.base == s.token
	}
	return true
}

// put follows a write at the store.
func (j registerModel) put(s state, o *op) []state {
	next := state{is: held, token: o.token, fence: s.fence, first: never, last: never}
	if o.check == fenced {
		next.fence = o.fence
	}
	passes := s.is == unknown || o.accepted(s)
	fails := o.check != unchecked && (s.is == unknown || !o.accepted(s))
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

// got follows a read at the store. One that claims shows its token and leaves it there.
func (j registerModel) got(s state, o *op) []state {
	next := s
	if o.check == fenced {
		next.fence = o.fence
	}
	switch passes := s.is == unknown || o.accepted(s); {
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

const ellipsis = "..." // ends what a history has shortened

func (o *op) shortened() bool { return strings.HasSuffix(o.seen, ellipsis) }

// shows: a read's answer is that version.
func (o *op) shows(version string) bool {
	return o.seen == version || o.shortened() && strings.HasPrefix(version, strings.TrimSuffix(o.seen, ellipsis))
}

// acceptance is of a version, by the store.
type acceptance struct{ key, version string }

// accepted notes that the store let a write pass.
func (r *Reader) accepted(o *op, e *history.Event) {
	if o.action == put && o.answer == yes {
		r.writes[acceptance{strings.TrimPrefix(e.Command.Key, history.RegisterPrefix),
			o.token}] = true
	}
}

// stored holds what a client says of its write against the store's answer.
func (r *Reader) stored(i int, e *history.Event) {
	if e.Op != history.OpWrite || e.Type == history.TypeInvoke || !r.toStore {
		return
	}
	w := acceptance{e.Key, e.Value}
	passed := r.writes[w]
	delete(r.writes, w)
	said := ""
	switch {
	case e.Type == history.TypeOK && !passed:
		said = "was acknowledged, and no link to the store saw it accepted"
	case e.Type == history.TypeFail && passed:
		said = "failed, and the store had accepted it"
	default:
		return
	}
	r.report.add(Finding{About: Cluster, Time: e.Time, Process: e.Process, Key: e.Key, Event: i,
		What: fmt.Sprintf("at %s, its write %s of %q %s", when(e.Time), e.Value, e.Key, said)})
}
