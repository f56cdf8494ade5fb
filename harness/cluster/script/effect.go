package script

import (
	"strings"
	"time"

	"example.org/lockproof/harness/history"
)

// Effect is the effect of a script's call, with its arguments, on a lock's key.
type Effect struct {
	Key string // the affected one of the script's keys
	// Takes: a free key exists after the call. Extends: the caller's own key has a new expiry. Removes: the caller's own
	// key is gone.
	Takes, Extends, Removes bool
	// Token marks the caller's own key: the key's value, or the field of a hash; "" if the script does not compare one.
	Token string
	// Expiry is the key's time to live after the call; 0: none.
	Expiry time.Duration
	// Plain: the effect on another client's key is the same.
	Plain bool
	// yes and no are the replies with and without the effect.
	yes, no string
	stored  int // index of the argument that is the token; -1: none
}

// Kind returns the history's effect. A script that acquires a free key and extends its own counts as EffectSet.
func (e Effect) Kind() history.Effect {
	switch {
	case e.Removes:
		return history.EffectDelete
	case e.Takes:
		return history.EffectSet
	case e.Extends:
		return history.EffectExtend
	}
	return ""
}

// Mute reports whether the effect is conditional and the reply does not show whether it took place.
func (e Effect) Mute() bool { return e.yes == e.no && !e.Plain }

// Done reports from a reply, in RESP, whether the effect took place; known is false if the reply does not show it.
func (e Effect) Done(reply string) (done, known bool) {
	switch {
	case e.yes == e.no || reply == "":
		return false, false
	case reply == e.yes:
		return true, true
	case reply == e.no:
		return false, true
	case kind(e.no) == "-" && kind(reply) == ":": // the sandbox's value made it fail, so its real refusal is unknown
		return false, false
	case kind(e.yes) != kind(e.no):
		return kind(reply) == kind(e.yes), true
	}
	return false, false
}

// kind is the type of a reply; nil differs from a string.
func kind(reply string) string {
	if strings.HasPrefix(reply, "$-1") || strings.HasPrefix(reply, "*-1") || strings.HasPrefix(reply, "_") {
		return "nil"
	}
	return reply[:1]
}
