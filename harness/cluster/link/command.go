package link

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockproof/harness/history"
)

// command is what a Redis command means for a lock's key.
type command struct {
	Name   string
	Key    string
	Token  string
	Expiry time.Duration
	Effect history.Effect
	get    bool // SET ... GET: the reply is the old value
	nx     bool
	digest string // of a script, and its third argument
	third  string
}

func (c command) event(serial int64) *history.Command {
	return &history.Command{Serial: serial, Name: c.Name, Key: c.Key, Token: c.Token,
		Expiry: int64(c.Expiry), Effect: c.Effect, Plain: c.Name == "SET" && !c.nx}
}

// done tells from the reply whether the effect took place.
func (c command) done(r reply) bool {
	switch {
	case r.err:
		return false
	case c.Name == "SET" && c.get:
		// The old value: none, so the key is taken now; or our own token,
		// which a retry of the same SET meets.
		return !c.nx || r.null || r.text == c.Token
	case c.Name == "SET":
		return r.text == "OK"
	case c.Effect == history.EffectRead:
		return !r.null
	}
	return r.integer > 0 || r.text == "OK"
}

// canonical is the name under which a command is counted and intercepted.
func canonical(name string) string {
	name = strings.ToUpper(name)
	if name == "EVALSHA" {
		return "EVAL"
	}
	return name
}

// parseCommand reads one whole RESP command.
func parseCommand(data []byte, scripts *Scripts) command {
	args := arguments(data)
	if len(args) == 0 {
		return command{}
	}
	c := command{Name: strings.ToUpper(args[0])}
	args = args[1:]
	switch c.Name {
	case "SET":
		c.set(args)
	case "SETNX":
		c.key(args, history.EffectSet)
		c.nx = true
		c.Token = at(args, 1)
	case "PEXPIRE":
		c.key(args, history.EffectExtend)
		c.Expiry = milliseconds(at(args, 1))
	case "EXPIRE":
		c.key(args, history.EffectExtend)
		c.Expiry = milliseconds(at(args, 1)) * 1000
	case "DEL", "UNLINK", "GETDEL", "DELEX", "DELIFEQ":
		c.key(args, history.EffectDelete)
	case "GET":
		c.key(args, history.EffectRead)
	case "INCR":
		c.Key = at(args, 0)
	case "EVAL", "EVALSHA":
		c.script(args, scripts)
	case "SCRIPT":
		if strings.EqualFold(at(args, 0), "LOAD") {
			scripts.learn(at(args, 1))
		}
	}
	if strings.HasPrefix(c.Key, history.FencePrefix) {
		c.Effect = ""
	}
	return c
}

func (c *command) key(args []string, e history.Effect) {
	if c.Key = at(args, 0); c.Key != "" {
		c.Effect = e
	}
}

// set reads SET key value [NX] [GET] [PX ms | EX s].
func (c *command) set(args []string) {
	c.key(args, history.EffectSet)
	c.Token = at(args, 1)
	for i := 2; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "NX":
			c.nx = true
		case "GET":
			c.get = true
		case "PX":
			c.Expiry = milliseconds(at(args, i+1))
		case "EX":
			c.Expiry = milliseconds(at(args, i+1)) * 1000
		}
	}
}

// script reads EVAL script numkeys key token [milliseconds]: every lock's
// scripts known to us take the key, then the token, then the time to live.
func (c *command) script(args []string, scripts *Scripts) {
	if at(args, 1) != "1" {
		return
	}
	c.Key, c.Token = at(args, 2), at(args, 3)
	if strings.HasPrefix(c.Key, history.FencePrefix) {
		return
	}
	c.digest, c.third = strings.ToLower(at(args, 0)), at(args, 4)
	if c.Name == "EVAL" {
		c.digest = scripts.learn(at(args, 0))
	}
	c.resolve(scripts)
}

// resolve finds out what a script does. A client may name one whose text
// another sends to the node in the meantime, so it is asked again when the
// command is handed to the node.
func (c *command) resolve(scripts *Scripts) {
	if c.digest == "" {
		return
	}
	c.Effect = scripts.effectOf(c.digest)
	if c.Effect == history.EffectExtend || c.Effect == history.EffectSet {
		c.Expiry = milliseconds(c.third)
	}
}

func at(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}

func milliseconds(s string) time.Duration {
	n, _ := strconv.ParseInt(s, 10, 64) // not a number: no expiry that we know
	return time.Duration(n) * time.Millisecond
}

// Scripts is what the links of one run know of the Lua scripts that they have
// seen: EVALSHA names a script only by its digest.
type Scripts struct {
	mu     sync.Mutex
	effect map[string]history.Effect // by SHA-1
}

// NewScripts makes an empty set.
func NewScripts() *Scripts { return &Scripts{effect: map[string]history.Effect{}} }

var calls = regexp.MustCompile(`(?i)(?:redis|server)\.p?call\(\s*['"](\w+)['"]`)

// learn remembers a script and gives its digest.
func (s *Scripts) learn(body string) string {
	sum := sha1.Sum([]byte(body))
	digest := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.effect[digest]; !ok {
		s.effect[digest] = weigh(body)
	}
	return digest
}

// effectOf gives what a script does, "" if its text has not been seen.
func (s *Scripts) effectOf(digest string) history.Effect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effect[digest]
}

// weigh reads from a script's calls what it does to its key; where it does
// several things, what weighs most: deleting, then taking, then extending.
func weigh(body string) history.Effect {
	found := map[history.Effect]bool{}
	for _, m := range calls.FindAllStringSubmatch(body, -1) {
		switch strings.ToUpper(m[1]) {
		case "DEL", "UNLINK":
			found[history.EffectDelete] = true
		case "SET", "SETNX":
			found[history.EffectSet] = true
		case "PEXPIRE", "EXPIRE":
			found[history.EffectExtend] = true
		case "GET":
			found[history.EffectRead] = true
		}
	}
	for _, e := range []history.Effect{history.EffectDelete, history.EffectSet, history.EffectExtend, history.EffectRead} {
		if found[e] {
			return e
		}
	}
	return ""
}
