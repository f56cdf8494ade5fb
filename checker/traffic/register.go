package traffic

import (
	"cmp"
	"strings"

	"example.org/lockproof/harness/history"
)

// state is the state of the register's model.
type state struct {
	is    presence
	token string
	// unnamed: it is held, with an unknown token.
	unnamed bool
	fence   int64 // at the store: the highest fencing token that it has seen for the key
	since   int64 // call of the command that set its expiry
	// The key expires when the node's clock reads a value from first to last.
	first, last int64
}

type presence uint8

const (
	unknown presence = iota // nothing has been seen of it since the node came up
	absent
	held
)

// action is a command's effect, or another event at a key on a node.
type action uint8

const (
	take   action = iota // set it, if it is free
	extend               // set its expiry, if it is the token's
	remove               // delete it, if it is the token's
	read
	look   // into the node, past its links
	reset  // a crash or a flush: the next look shows what is left
	put    // write a version at the store
	get    // read it there
	unseen // an unknown command or script: it may do any of these
)

var actionOf = map[history.Effect]action{
	history.EffectSet: take, history.EffectExtend: extend, history.EffectDelete: remove, history.EffectRead: read,
}

// answer is the result of a command.
type answer uint8

const (
	silent  answer = iota // no reply: it may be executed, at any time or never
	yes                   // its effect took place
	no                    // no effect: the key is another's, or exists, or does not
	refused               // an error: nothing was read or changed
)

// op is an operation on the register: a command with its reply. It took place at one
// moment of [call, ret] on the true clock.
type op struct {
	action action
	answer answer
	// unconditional: it compares nothing first, as a SET without NX. script: it is a script. Its effect is known, and
	// what it compares first is a guess.
	unconditional, script bool
	evicting              bool // the node's memory was full: it may evict the key at any time
	token                 string
	seen                  string // the token that the reply shows, "" if it shows none
	check                 check  // what a script at the store compares: its fence or its base
	fence                 int64
	base                  string
	expiry                int64 // what it sets, in nanoseconds; 0: none
	expiresAt             int64 // the key's expiry by the node's clock; 0: see expiry
	call, ret             int64
	from, until           int64     // the least and greatest reading of the node's clock in [call, ret]
	event                 int       // the command's index in the history
	register              *register // nil: the command names no key
	process               string
}

// registerModel is the model of a register with expiry.
type registerModel struct {
	clock *clock
	slack int64 // error of the node's clock, in nanoseconds
	// lenient: a script takes effect whatever the state.
	lenient bool
	left    *int // remaining search steps
}

// successors returns the possible states after an operation; none if its answer is impossible.
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

// maybeExpired reports whether the key may be absent or expired when the operation takes place.
func (j registerModel) maybeExpired(s state, o *op) bool {
	switch {
	case s.is != held:
		return true
	case s.first == never:
		return false
	case o.ret == never: // it may be executed arbitrarily late
		return true
	}
	_, latest := j.clock.readings(s.since, max(o.ret, s.since))
	return latest+j.slack >= s.first
}

// maybePresent reports whether the key may exist when the operation takes place.
func (j registerModel) maybePresent(s state, o *op) bool {
	return s.is != absent && (s.is == unknown || s.last == never || o.from-j.slack <= s.last)
}

// maybeOwned reports whether the key may exist with that token; "" is any.
func (j registerModel) maybeOwned(s state, o *op, token string) bool {
	return j.maybePresent(s, o) && (s.is == unknown || s.unnamed || token == "" || s.token == token)
}

// set returns the state that the operation leaves.
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

// refined returns the state after an operation that found the key held.
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
	unconditional := o.unconditional || o.script && j.lenient
	unnamed := o.script && o.token == "" // it sets a value that is not one of its arguments
	own := s.is == held && (s.unnamed || unnamed || s.token == o.token)
	open := j.maybeExpired(s, o) || unconditional
	next := j.set(o.token, o)
	next.unnamed = unnamed
	switch {
	case o.answer == yes && o.seen != "" && o.unconditional && !o.script: // a SET GET that replaced the key
		if j.maybeOwned(s, o, o.seen) {
			return []state{next}
		}
		return nil
	case o.answer == yes && o.seen != "": // a SET NX GET that found its own token
		if j.maybeOwned(s, o, o.token) {
			return []state{refined(s, o.token, o)}
		}
		return nil
	case o.answer == yes && (open || own && o.script):
		return []state{next}
	case o.answer == no && (j.lenient && o.script || o.unconditional && !o.script): // such as a SET XX of an absent key
		return []state{s}
	case o.answer == no && j.maybeOwned(s, o, o.seen):
		if s.is == unknown && o.seen == "" {
			return []state{s} // its owner is unknown
		}
		return []state{refined(s, o.seen, o)}
	case o.answer == silent && (open || own):
		return []state{s, next}
	case o.answer == silent:
		return []state{s}
	}
	return nil
}

// changed applies extensions and deletes: they compare the token, if they have one.
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

// looked applies a look, which shows the key with its token and its time to live.
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
	if s.is == held && (surelyBefore(next.last, s.first, j.slack) || surelyBefore(s.last, next.first, j.slack)) {
		return nil // another expiry than was set
	}
	return []state{next}
}

// surelyBefore reports whether one reading comes before another, despite the error of both.
func surelyBefore(a, b, slack int64) bool { return a != never && (b == never || a+slack < b) }

// settles reports whether the register's state is known after the operation, whatever it was before.
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
	words := [...]string{"a SET", "an extension", "a delete", "a GET", "a direct reading", "a restart", "a write",
		"a read", "a script"}[o.action]
	if o.token != "" {
		words += " of " + o.token
	}
	switch {
	case o.answer == no && o.seen != "":
		return words + " found " + o.seen
	case o.action == get && o.answer == yes:
		return words + " found " + cmp.Or(o.seen, "the initial version")
	case o.action == look && o.seen != "":
		return words + " showed " + o.seen
	case o.answer == no && o.action == look:
		return words + " showed no key"
	case o.answer == yes && o.action == look:
		return words + " showed a key without a token"
	case o.answer == no:
		return words + " was refused"
	case o.answer == yes:
		return words + " succeeded"
	}
	return strings.TrimSpace(words)
}
