package script

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Scripts holds the scripts of one run: EVALSHA names one only by its digest. Its methods may be called from any
// goroutine.
type Scripts struct {
	mu      sync.Mutex
	texts   map[string]string          // by digest
	loaded  map[string]map[string]bool // by node and digest
	sandbox *sandbox
	effects map[string]Effect // by script and arguments without the token
	stored  map[string]int    // by script: Effect.stored
}

// New makes an empty set.
func New() *Scripts {
	return &Scripts{texts: map[string]string{}, loaded: map[string]map[string]bool{}, effects: map[string]Effect{},
		stored: map[string]int{}}
}

// Learn stores a script and returns its digest.
func (r *Scripts) Learn(body string) string {
	digest := Digest(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts[digest] = body
	return digest
}

// Text returns the text of a script, "" if it is unknown.
func (r *Scripts) Text(digest string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[digest]
}

// Answered records from a node's reply whether the node knows a script.
func (r *Scripts) Answered(node, digest string, knows bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded[node] == nil {
		r.loaded[node] = map[string]bool{}
	}
	r.loaded[node][digest] = knows
}

// Forget records that a node may have lost its scripts, for example by a restart.
func (r *Scripts) Forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.loaded, node)
}

// Knows reports whether a node has a script for certain.
func (r *Scripts) Knows(node, digest string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded[node][digest]
}

// maxEffects bounds the cache, as arguments may never repeat.
const maxEffects = 1000

// Of returns the effect of a call of a script; false if the script cannot run in the sandbox.
func (r *Scripts) Of(body string, keys, args []string) (Effect, bool) {
	if len(keys) == 0 {
		return Effect{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.identify(body, keys, args)
	e, found := r.effects[id]
	if !found {
		if loops.MatchString(body) {
			return Effect{}, false
		}
		var ok bool
		if e, ok = r.run(body, keys, args); !ok {
			return Effect{}, false
		}
		if len(r.effects) >= maxEffects {
			clear(r.effects)
		}
		r.stored[body] = e.stored
		r.effects[r.identify(body, keys, args)] = e
	}
	e.Token = at(args, e.stored)
	if e.names {
		e.yes.text = bulk(e.Token)
	}
	return e, true
}

// loops matches scripts that may not end.
var loops = regexp.MustCompile(`\b(while|repeat|goto)\b`)

// identify returns the cache key of a call: everything except its token, which differs each time.
func (r *Scripts) identify(body string, keys, args []string) string {
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

// Digest returns the digest that names a script in EVALSHA.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
