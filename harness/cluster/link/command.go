package link

import (
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/history"
)

// command is a Redis command's meaning for a lock's key.
type command struct {
	Name   string
	Key    string
	Token  string
	Expiry time.Duration
	// ends is the key's expiry as a time of the node's wall clock, as in PXAT: milliseconds since 1970, 0 for none.
	ends   int64
	Effect history.Effect
	get    bool // SET ... GET: the reply is the old value
	nx     bool
	own    bool   // it needs an existing key: SET ... XX
	digest string // of a script, whose keys and args follow
	keys   []string
	args   []string
	script *script.Effect // nil if unknown
	// flushes: the node forgets its scripts. unknown: its effect on its key and the others is unknown; without a key,
	// its effect on every key.
	flushes, unknown bool
	others           []string
	// channels is the number of channels that it subscribes to or unsubscribes from.
	channels int
	// fence and base are the operands of the store's scripts.
	fence int64
	base  string
}

// event converts the command for a history that began at epoch.
func (c command) event(serial int64, epoch time.Time) *history.Command {
	e := &history.Command{Serial: serial, Name: c.Name, Key: c.Key, Token: c.Token,
		Expiry: int64(c.Expiry), Effect: c.Effect, Unconditional: c.plain(),
		Extends: c.script != nil && c.script.Takes && c.script.Extends, Fence: c.fence, Base: c.base, Others: c.others}
	if c.ends != 0 {
		e.ExpiresAt = int64(time.UnixMilli(c.ends).Sub(epoch))
	}
	return e
}

// plain reports whether the command acquires the key even if it is held.
func (c command) plain() bool {
	if c.script != nil {
		return c.script.Takes && c.script.Plain
	}
	return c.Effect == history.EffectSet && !c.nx && c.digest == ""
}

// intent returns the intended effect, as intercepts name it, or "". Some commands acquire a free key and extend their
// client's own: the key's last known owner decides.
func (c command) intent(owns func(key, token string) bool) string {
	switch c.Effect {
	case history.EffectDelete:
		return history.Release
	case history.EffectExtend:
		return history.Extend
	case history.EffectSet:
		both := c.own || c.plain() || c.script != nil && c.script.Extends
		if both && (c.own || owns(c.Key, c.Token)) {
			return history.Extend
		}
		return history.Take
	}
	return ""
}

// done reports from the reply whether the effect took place.
func (c command) done(r value) bool {
	if r.failed() || c.unknown {
		return false
	}
	if c.script != nil {
		if done, known := c.script.Done(string(r.data)); known {
			return done
		}
	}
	switch {
	case c.Name == "SET" && c.get && c.own: // without an old value XX refused
		return !r.null
	case c.Name == "SET" && c.get:
		// Without an old value the key was free. Our own token comes from an earlier transmission of the same SET.
		return !c.nx || r.null || r.text == c.Token
	case c.Name == "SET":
		return r.text == "OK"
	case c.Name == "GETSET":
		return true
	case c.Effect == history.EffectRead, c.Name == "GETDEL", c.Name == "GETEX":
		return !r.null
	}
	return r.integer() > 0 || r.text == "OK"
}

// canonical is the name under which a command, or an effect, is counted and intercepted.
func canonical(name string) string {
	switch lower := strings.ToLower(name); lower {
	case history.Take, history.Extend, history.Release:
		return lower
	case "evalsha":
		return "EVAL"
	}
	return strings.ToUpper(name)
}

// parseCommand reads a command's words.
func parseCommand(args []string, scripts *script.Scripts) command {
	if len(args) == 0 {
		return command{}
	}
	c := command{Name: strings.ToUpper(args[0])}
	args = args[1:]
	switch c.Name {
	case "SET":
		c.set(args)
	case "SETNX", "GETSET":
		c.key(args, history.EffectSet)
		c.nx = c.Name == "SETNX"
		c.Token = at(args, 1)
	case "SETEX", "PSETEX":
		c.key(args, history.EffectSet)
		c.Token = at(args, 2)
		c.expires(expiryOptions[c.Name], at(args, 1))
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		c.key(args, history.EffectExtend)
		c.expires(expiryOptions[c.Name], at(args, 1))
	case "PERSIST":
		c.key(args, history.EffectExtend)
	case "GETEX":
		c.key(args, history.EffectRead)
		if len(args) > 1 { // EX, PX, EXAT, PXAT or PERSIST
			c.Effect = history.EffectExtend
			c.expires(at(args, 1), at(args, 2))
		}
	case "DEL", "UNLINK", "GETDEL":
		if c.key(args, history.EffectDelete); len(args) > 1 { // its reply counts the deleted keys, but does not name them
			c.others = args[1:]
		}
	case "DELEX", "DELIFEQ":
		c.deleteOwn(args)
	case "GET":
		c.key(args, history.EffectRead)
	case "EVAL", "EVALSHA":
		c.eval(args, scripts)
	case "SCRIPT":
		switch strings.ToUpper(at(args, 0)) {
		case "LOAD":
			c.digest = scripts.Learn(at(args, 1))
		case "FLUSH":
			c.flushes = true
		}
	case "FLUSHALL", "FLUSHDB", "SWAPDB":
		c.unmodelled(nil)
	default:
		if !cluster.ChangesNoKey(c.Name) {
			c.unmodelled(args)
		}
	}
	if subscribes(c.Name) {
		c.channels = len(args)
	}
	if strings.HasPrefix(c.Key, history.FencePrefix) {
		c.Effect, c.unknown = "", false
	}
	return c
}

func (c *command) key(args []string, e history.Effect) {
	if c.Key = at(args, 0); c.Key != "" {
		c.Effect = e
	}
}

// expiryOptions maps commands to the equivalent option of SET.
var expiryOptions = map[string]string{
	"SETEX": "EX", "PSETEX": "PX", "EXPIRE": "EX", "PEXPIRE": "PX", "EXPIREAT": "EXAT", "PEXPIREAT": "PXAT",
}

// expires reads an option of SET. An invalid number counts as no expiry.
func (c *command) expires(option, value string) {
	n, _ := strconv.ParseInt(value, 10, 64)
	switch strings.ToUpper(option) {
	case "EX":
		c.Expiry = time.Duration(n) * time.Second
	case "PX":
		c.Expiry = time.Duration(n) * time.Millisecond
	case "EXAT":
		c.ends = n * 1000
	case "PXAT":
		c.ends = n
	}
}

// set reads SET key value [NX | XX | IFEQ value] [GET] [PX ms | EX s | PXAT ms | EXAT s].
func (c *command) set(args []string) {
	c.key(args, history.EffectSet)
	c.Token = at(args, 1)
	for i := 2; i < len(args); i++ {
		switch option := strings.ToUpper(args[i]); option {
		default: // KEEPTTL, or an option of a newer server
			c.unmodelled(args[:1])
			return
		case "NX":
			c.nx = true
		case "XX":
			c.own = true
		case "IFEQ":
			if i++; at(args, i) == c.Token { // the value stays: only the expiry is new
				c.Effect = history.EffectExtend
			}
			c.own = true
		case "GET":
			c.get = true
		case "EX", "PX", "EXAT", "PXAT":
			c.expires(option, at(args, i+1))
			i++
		}
	}
}

// deleteOwn reads DELEX key [IFEQ value] and DELIFEQ key value.
func (c *command) deleteOwn(args []string) {
	c.key(args, history.EffectDelete)
	switch {
	case c.Name == "DELIFEQ":
		c.Token = at(args, 1)
	case strings.EqualFold(at(args, 1), "IFEQ"):
		c.Token = at(args, 2)
	}
}

// eval reads EVAL script numkeys key ... argument ...
func (c *command) eval(args []string, scripts *script.Scripts) {
	n, err := strconv.Atoi(at(args, 1))
	if err != nil || n < 0 || n > len(args)-2 {
		return
	}
	if n == 0 { // only its text shows its keys
		if c.Name != "EVAL" || mayChangeKeys(at(args, 0)) {
			c.unmodelled(nil)
		}
		return
	}
	c.digest, c.keys, c.args = strings.ToLower(at(args, 0)), args[2:2+n], args[2+n:]
	c.Key, c.Token = c.keys[0], at(c.args, 0)
	if c.Name == "EVAL" {
		c.digest = scripts.Learn(at(args, 0))
	}
	c.unknown = true // until it is resolved
	c.resolve(scripts)
}

// resolve finds a script's effect. It runs again when the node gets the command and when it replies: in the meantime
// another client may have sent the text of the script.
func (c *command) resolve(scripts *script.Scripts) {
	if len(c.keys) == 0 || c.script != nil || strings.HasPrefix(c.Key, history.FencePrefix) {
		return
	}
	c.others = c.keysBeside(c.Key)
	body := scripts.Text(c.digest)
	if body == "" {
		return
	}
	e, ok := scripts.Of(body, c.keys, c.args)
	if !ok || e.Kind() == "" {
		c.unknown = mayChangeKeys(body)
		return
	}
	c.script, c.Effect, c.Key, c.Token, c.Expiry = &e, e.Kind(), e.Key, e.Token, e.Expiry
	c.others, c.unknown = c.keysBeside(c.Key), false
}

// keysBeside returns a script's other keys. Its effect on them is unknown.
func (c *command) keysBeside(key string) []string {
	var others []string
	for _, k := range c.keys {
		if k != key && !strings.HasPrefix(k, history.FencePrefix) {
			others = append(others, k)
		}
	}
	return others
}

func at(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
