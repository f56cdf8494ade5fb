package script

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
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

// EffectCache are what is known of the scripts of one run. Its methods may be called
// from any goroutine.
type EffectCache struct {
	mu     sync.Mutex
	stage  *sandbox
	deeds  map[string]Effect // by script and arguments, but for the token
	stored map[string]int    // which argument a script's token is
}

// New makes an empty set.
func New() *EffectCache { return &EffectCache{deeds: map[string]Effect{}, stored: map[string]int{}} }

// maxEffects is how many are kept: arguments that never come again would fill the memory.
const maxEffects = 1000

// Of tells what a call of a script with that text does; false if it cannot be
// rehearsed, as it does not run on the server in memory.
func (r *EffectCache) Of(body string, keys, args []string) (Effect, bool) {
	if len(keys) == 0 {
		return Effect{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.identify(body, keys, args)
	d, found := r.deeds[id]
	if !found {
		if loops.MatchString(body) {
			return Effect{}, false
		}
		var ok bool
		if d, ok = r.rehearse(body, keys, args); !ok {
			return Effect{}, false
		}
		if len(r.deeds) >= maxEffects {
			clear(r.deeds)
		}
		r.stored[body] = d.stored
		r.deeds[r.identify(body, keys, args)] = d
	}
	d.Token = at(args, d.stored)
	return d, true
}

// loops are in scripts that may not end.
var loops = regexp.MustCompile(`\b(while|repeat|goto)\b`)

// identify names a call: by everything but its token, which is another each time.
func (r *EffectCache) identify(body string, keys, args []string) string {
	var b strings.Builder
	stored, known := r.stored[body]
	for _, word := range append([]string{body, strconv.Itoa(len(keys))}, keys...) {
		b.WriteString(word + "\x00")
	}
	for i, word := range args {
		if known && i == stored {
			word = "\x01" + strconv.Itoa(len(word))
		}
		b.WriteString(word + "\x00")
	}
	return b.String()
}

func at(args []string, i int) string {
	if i >= 0 && i < len(args) {
		return args[i]
	}
	return ""
}

// brief is the time to live that a key has before the script comes to it: no lock's is
// as short.
const brief = 7 * time.Millisecond

// another is the value of a key that is not the caller's.
const another = "another's"

// rehearse tries a call out.
func (r *EffectCache) rehearse(body string, keys, args []string) (d Effect, ok bool) {
	if r.stage == nil {
		r.stage = newSandbox()
	}
	s := r.stage
	defer func() {
		if s.broken {
			r.stage, ok = nil, false
		}
	}()
	call := func() string {
		return s.call(append(append([]string{"EVAL", body, strconv.Itoa(len(keys))}, keys...), args...))
	}
	s.clear()
	alone := call()
	if strings.HasPrefix(alone, "-") {
		return d, false
	}
	for _, key := range keys {
		if s.has(key) && !strings.HasPrefix(key, history.FencePrefix) {
			return s.taken(key, args, alone, call), true
		}
	}
	for _, key := range keys {
		for i, own := range args {
			for _, hash := range []bool{false, true} {
				found := s.changed(key, own, hash, call)
				if found.Kind() == "" {
					continue
				}
				if !found.Plain {
					found.stored = i
				}
				return found, true
			}
		}
		if found := s.changed(key, another, false, call); found.Kind() != "" { // it asks for nothing
			return found, true
		}
	}
	return Effect{stored: -1}, true
}

// taken tells of a call that has taken a key that was free.
func (s *sandbox) taken(key string, args []string, answer string, call func() string) Effect {
	d := Effect{Key: key, Takes: true, Expiry: s.left(key), yes: answer, stored: -1}
	value, hash := s.value(key)
	for i, a := range args {
		if a == value {
			d.stored = i
			break
		}
	}
	s.expire(key, brief)
	call()
	d.Extends = s.has(key) && s.left(key) != brief
	s.clear()
	s.put(key, another, hash)
	d.no = call()
	now, _ := s.value(key)
	d.Plain = now == value
	return d
}

// changed tells whether a call extends or removes a key that has a value, or a field. Whose a key is that has another
// value afterwards, the lock's other calls decide.
func (s *sandbox) changed(key, own string, hash bool, call func() string) Effect {
	s.clear()
	s.put(key, own, hash)
	answer := call()
	if strings.HasPrefix(answer, "-") {
		return Effect{}
	}
	if value, isHash := s.value(key); s.has(key) && !isHash && value != own {
		return Effect{}
	}
	d := Effect{Key: key, yes: answer, Removes: !s.has(key), stored: -1}
	if !d.Removes {
		d.Extends, d.Expiry = s.left(key) != brief, s.left(key)
	}
	if !d.Removes && !d.Extends {
		return Effect{}
	}
	s.clear()
	s.put(key, another, hash)
	d.no = call()
	d.Plain = !s.has(key) || s.left(key) != brief
	return d
}
