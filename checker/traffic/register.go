package traffic

import (
	"cmp"
	"strings"

	"example.org/lockproof/harness/history"
)

// state is what a key on a node may be: the state of the register's model.
type state struct {
	is    presence
	token string
	// unnamed: it is held, and with which token is not known.
	unnamed bool
	fence   int64 // at the store: the highest fencing token that it has seen of the key
	since   int64 // when the command was called that set its expiry
	// The key runs out when the node's clock reads something from first to last.
	first, last int64
}

type presence uint8

const (
	unknown presence = iota // nothing has been seen of it since the node came up
	absent
	held
)

// action is what a command does, or what else happens to a key on a node.
type action uint8

const (
	take   action = iota // set it, if it is free
	extend               // set its expiry, if it is the token's
	remove               // delete it, if it is the token's
	read
	look   // into the node, past its links
	reset  // a crash or a flush: what is left of it, the next look shows
	put    // write a version at the store
	get    // read it there
	unseen // a script that nobody has shown: it may do any of these
)

var actionOf = map[history.Effect]action{
	history.EffectSet: take, history.EffectExtend: extend, history.EffectDelete: remove, history.EffectRead: read,
}

// answer is what became of a command.
type answer uint8

const (
	silent  answer = iota // no reply: it may have been carried out, at any time or never
	yes                   // its effect took place
	no                    // it did not, as the key is another's or is there or is not
	refused               // by an error: nothing was looked at or changed
)

// op is an operation on the register: a command with its reply. It took place at one
// moment of [call, ret] on the true clock.
type op struct {
	action action
	answer answer
	// unconditional: it asks for nothing first, as a SET without NX. script: it is a script, of
	// which we know what it does, and guess what it asks for first.
	unconditional, script bool
	evicting              bool // the node's memory was full: the key may go at any time
	token                 string
	seen                  string // the token that the answer shows, "" where it shows none
	check                 check  // what a script at the store compares: its fence or its base
	fence                 int64
	base                  string
	expiry                int64 // what it sets, in nanoseconds; 0: none
	expiresAt             int64 // when it lets the key expire, by the node's clock; 0: as expiry says
	call, ret             int64
	from, until           int64 // the least and greatest reading of the node's clock in [call, ret]
	event                 int   // the command's index in the history
	process               string
}

// registerModel steps the register's model.
type registerModel struct {
	clock *clock
	slack int64 // how exactly the node's clock is known, in nanoseconds
	// lenient lets a script do what it does whatever it meets.
	lenient bool
	left    *int // steps of searches
}

// successors gives the states that a state may have become by an operation; none if it
// cannot have been answered so.
func (j registerModel) successors(s state, o *op) []state {
	if o.answer == refused {
		return []state{s}
	}
	if o.evicting && s.is == held {
		return append(j.step(s, o), j.step(state{is: absent}, o)...)
	}
	return j.step(s, o)
}

func (j registerModel) step(s state, o *op) []state {
	switch o.action {
	case reset:
		return []state{{}}
	case look:
		return j.looked(s, o)
	case read:
		return j.found(s, o)
	case take:
		return j.taken(s, o)
	case put:
		return j.put(s, o)
	case get:
		return j.got(s, o)
	case unseen:
		return []state{s, {}}
	}
	return j.changed(s, o)
}

// maybeExpired: it may have run out by the time that the operation met it.
func (j registerModel) maybeExpired(s state, o *op) bool {
	switch {
	case s.is != held:
		return true
	case s.first == never:
		return false
	case o.ret == never: // it may be carried out ever so late
		return true
	}
	_, latest := j.clock.readings(s.since, max(o.ret, s.since))
	return latest+j.slack >= s.first
}

// maybePresent: it may not have run out yet.
func (j registerModel) maybePresent(s state, o *op) bool {
	return s.is != absent && (s.is == unknown || s.last == never || o.from-j.slack <= s.last)
}

// maybeOwned: it may be there with that token; "" is any.
func (j registerModel) maybeOwned(s state, o *op, token string) bool {
	return j.maybePresent(s, o) && (s.is == unknown || s.unnamed || token == "" || s.token == token)
}

// set gives the key as the operation leaves it.
func (j registerModel) set(token string, o *op) state {
	s := state{is: held, token: token, since: o.call, first: never, last: never}
	switch {
	case o.expiresAt != 0:
		s.first, s.last = o.expiresAt, o.expiresAt
	case o.expiry > 0:
		s.first = o.from + o.expiry
		if o.ret != never {
			s.last = o.until + o.expiry
		}
	}
	return s
}

// refined gives what is known of a key that an operation met: it is held.
func refined(s state, token string, o *op) state {
	if s.is == unknown {
		return state{is: held, token: token, unnamed: token == "", since: o.call, first: o.from, last: never}
	}
	if s.unnamed && token != "" {
		s.token, s.unnamed = token, false
	}
	return s
}

func (j registerModel) taken(s state, o *op) []state {
	unasked := o.unconditional || o.script && j.lenient
	nameless := o.script && o.token == "" // it sets a value that is none of its arguments
	own := s.is == held && (s.unnamed || nameless || s.token == o.token)
	open := j.maybeExpired(s, o) || unasked
	next := j.set(o.token, o)
	next.unnamed = nameless
	switch {
	case o.answer == yes && o.seen != "" && o.unconditional && !o.script: // a SET GET that replaced what it met
		if j.maybeOwned(s, o, o.seen) {
			return []state{next}
		}
		return nil
	case o.answer == yes && o.seen != "": // a SET NX GET that met its own token
		if j.maybeOwned(s, o, o.token) {
			return []state{refined(s, o.token, o)}
		}
		return nil
	case o.answer == yes && (open || own && o.script):
		return []state{next}
	case o.answer == no && (j.lenient && o.script || o.unconditional && !o.script): // it was for a key that is there: XX
		return []state{s}
	case o.answer == no && j.maybeOwned(s, o, o.seen):
		if s.is == unknown && o.seen == "" {
			return []state{s} // it is somebody's
		}
		return []state{refined(s, o.seen, o)}
	case o.answer == silent && (open || own):
		return []state{s, next}
	case o.answer == silent:
		return []state{s}
	}
	return nil
}

// changed follows what extends and removes: they ask for the token, unless they have
// none.
func (j registerModel) changed(s state, o *op) []state {
	match := j.maybeOwned(s, o, o.token)
	if o.script && j.lenient {
		match = j.maybePresent(s, o)
	}
	switch {
	case o.answer == yes && match, o.answer == silent && match:
		next := state{is: absent}
		if o.action == extend {
			token := s.token
			if s.is == unknown || s.unnamed {
				token = o.token
			}
			next = j.set(token, o)
			next.unnamed = token == "" // a command without a token extends whatever is there
		}
		if o.answer == silent {
			return []state{s, next}
		}
		return []state{next}
	case o.answer == yes:
		return nil
	case o.answer == silent, s.is == unknown, s.unnamed, o.script && j.lenient:
		return []state{s}
	case s.is == held && o.token != "" && s.token != o.token:
		return []state{s}
	case j.maybeExpired(s, o):
		return []state{{is: absent}}
	}
	return nil
}

func (j registerModel) found(s state, o *op) []state {
	switch {
	case o.answer == silent:
		return []state{s}
	case o.answer == yes && j.maybeOwned(s, o, o.seen):
		return []state{refined(s, o.seen, o)}
	case o.answer == no && j.maybeExpired(s, o):
		return []state{{is: absent}}
	}
	return nil
}

// looked follows a look: it shows the key with its token and its time to live.
func (j registerModel) looked(s state, o *op) []state {
	if o.answer == no {
		if s.is == unknown || j.maybeExpired(s, o) {
			return []state{{is: absent}}
		}
		return nil
	}
	if !j.maybeOwned(s, o, o.seen) {
		return nil
	}
	next := j.set(o.seen, o)
	if s.is == held && (before(next.last, s.first, j.slack) || before(s.last, next.first, j.slack)) {
		return nil // another expiry than it was given
	}
	return []state{next}
}

// before: one reading comes before another, however inexact both are.
func before(a, b, slack int64) bool { return a != never && (b == never || a+slack < b) }

// settles: whatever the register was before, it is known afterwards.
func (o *op) settles() bool {
	switch {
	case o.answer == yes && o.action == take:
		return o.seen == ""
	case o.answer == yes && o.action == remove:
		return true
	case o.action == look:
		return true
	case o.answer == yes && o.action == get:
		return o.check == fenced && !o.shortened()
	}
	return o.answer == yes && o.action == put
}

func (o *op) String() string {
	words := [...]string{"a SET", "an extension", "a delete", "a GET", "a look", "a restart", "a write", "a read",
		"a script"}[o.action]
	if o.token != "" {
		words += " of " + o.token
	}
	switch {
	case o.answer == no && o.seen != "":
		return words + " met " + o.seen
	case o.action == get && o.answer == yes:
		return words + " found " + cmp.Or(o.seen, "the initial version")
	case o.action == look && o.seen != "":
		return words + " showed " + o.seen
	case o.answer == no && o.action == look:
		return words + " showed no key"
	case o.answer == no:
		return words + " was refused"
	case o.answer == yes:
		return words + " succeeded"
	}
	return strings.TrimSpace(words)
}
