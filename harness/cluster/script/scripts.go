package script

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Scripts is what is known of the scripts of one run: EVALSHA names one only by its digest. Its methods may be called
// from any goroutine.
type Scripts struct {
	mu     sync.Mutex
	texts  map[string]string          // by digest
	loaded map[string]map[string]bool // by node, the digests that it has answered to
	stage  *sandbox
	deeds  map[string]Effect // by script and arguments, but for the token
	stored map[string]int    // which argument a script's token is
}

// New makes an empty set.
func New() *Scripts {
	return &Scripts{texts: map[string]string{}, loaded: map[string]map[string]bool{}, deeds: map[string]Effect{},
		stored: map[string]int{}}
}

// Learn remembers a script and gives its digest.
func (r *Scripts) Learn(body string) string {
	digest := Digest(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts[digest] = body
	return digest
}

// Text is a script's, "" if nobody has seen it.
func (r *Scripts) Text(digest string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.texts[digest]
}

// Answered notes whether a node knows a script.
func (r *Scripts) Answered(node, digest string, knows bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.loaded[node] == nil {
		r.loaded[node] = map[string]bool{}
	}
	r.loaded[node][digest] = knows
}

// Forget says that a node may have lost its scripts, as it may have been restarted.
func (r *Scripts) Forget(node string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.loaded, node)
}

// Knows says whether a node is known to have a script.
func (r *Scripts) Knows(node, digest string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loaded[node][digest]
}

// maxEffects is how many are kept: arguments that never come again would fill the memory.
const maxEffects = 1000

// Of tells what a call of a script with that text does; false if it cannot be
// rehearsed, as it does not run on the server in memory.
func (r *Scripts) Of(body string, keys, args []string) (Effect, bool) {
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

// Digest is the name of a script in EVALSHA.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
