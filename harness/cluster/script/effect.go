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
	yes, no reply
	// idle is the reply to a call that finds nothing to do: to extend or remove an absent key, or to take its own key.
	idle   string
	names  bool // the reply with the effect is the token
	stored int  // index of the argument that is the token; -1: none
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

// reply is a script's reply, in RESP. varies: it depends on more than the effect, as a counter or a remaining expiry
// does.
type reply struct {
	text   string
	varies bool
}

// Mute reports whether the effect is conditional and this reply, in RESP, does not show whether it took place.
func (e Effect) Mute(text string) bool {
	_, known := e.Done(text)
	return !e.Plain && !known && (e.yes.text == e.no.text || kind(e.no.text) != "-")
}

// Done reports from a reply, in RESP, whether the effect took place; known is false if the reply does not show it.
func (e Effect) Done(text string) (done, known bool) {
	switch {
	case e.yes.text == e.no.text || text == "":
		return false, false
	case text == e.yes.text:
		return true, true
	case text == e.no.text, text == e.idle:
		return false, true
	case kind(e.no.text) == "-" && kind(text) == ":": // the sandbox's value made it fail, so its real refusal is unknown
		return false, false
	case kind(e.yes.text) != kind(e.no.text):
		return kind(text) == kind(e.yes.text), true
	case e.yes.varies != e.no.varies: // only one of them can be another text than it was
		return e.yes.varies, true
	}
	return false, false
}

// kind is the type of a reply; nil differs from a string.
func kind(reply string) string {
	if strings.HasPrefix(reply, "$-1") || strings.HasPrefix(reply, "*-1") || strings.HasPrefix(reply, "_") {
		return "nil"
	}
	return reply[:min(1, len(reply))]
}
