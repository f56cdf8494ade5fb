package script

import (
	"strings"
	"time"

	"example.org/lockproof/harness/history"
)

// Effect is what a call of a script does to a lock's key, with the arguments that it has.
type Effect struct {
	Key string // the one of its keys that it does it to
	// Takes: the key is there after the call, if it was free before. Extends: it has
	// another time to live, if it was the caller's own. Removes: it is gone then.
	Takes, Extends, Removes bool
	// Token is what tells the caller's own key from others': the value, or the field of
	// a hash; "" if the script does not ask.
	Token string
	// Expiry is the time to live that a taken or extended key has; 0: none.
	Expiry time.Duration
	// Plain: it does the same to a key that is another's.
	Plain bool
	// yes and no are the answers with which the deed was done, and was not.
	yes, no string
	stored  int // which argument the token is; -1: none
}

// Kind gives the deed in a history's words. What takes a key that is free and extends
// its own is one that takes.
func (d Effect) Kind() history.Effect {
	switch {
	case d.Removes:
		return history.EffectDelete
	case d.Takes:
		return history.EffectSet
	case d.Extends:
		return history.EffectExtend
	}
	return ""
}

// Mute says that no answer tells whether the effect took place, and that it may not have.
func (d Effect) Mute() bool { return d.yes == d.no && !d.Plain }

// Done tells from an answer, in RESP, whether the deed was done; known is false where
// the answers with which it is done and not done do not differ.
func (d Effect) Done(answer string) (done, known bool) {
	switch {
	case d.yes == d.no || answer == "":
		return false, false
	case answer == d.yes:
		return true, true
	case answer == d.no:
		return false, true
	case kind(d.no) == "-" && kind(answer) == ":": // it failed on another's value, and with what it declines is not known
		return false, false
	case kind(d.yes) != kind(d.no):
		return kind(answer) == kind(d.yes), true
	}
	return false, false
}

// kind is the type of an answer: a nil is another than a string.
func kind(answer string) string {
	if strings.HasPrefix(answer, "$-1") || strings.HasPrefix(answer, "*-1") || strings.HasPrefix(answer, "_") {
		return "nil"
	}
	return answer[:1]
}
