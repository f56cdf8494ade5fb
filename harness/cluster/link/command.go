package link

import (
	"strconv"
	"strings"
	"time"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/history"
)

// command is what a Redis command means for a lock's key.
type command struct {
	Name   string
	Key    string
	Token  string
	Expiry time.Duration
	// ends is when the key expires by the node's wall clock, as in PXAT; in
	// milliseconds since 1970, 0 for none.
	ends   int64
	Effect history.Effect
	get    bool // SET ... GET: the reply is the old value
	nx     bool
	own    bool   // it is for a key that is there: SET ... XX
	digest string // of a script, with the words that it is called with
	keys   []string
	args   []string
	deed   *script.Effect // what the script does, nil if nobody has seen it
	// flushes: the node forgets its scripts. unknown: what it does to its key and to the others,
	// we cannot say; where it has no key, to any.
	flushes, unknown bool
	others           []string
	// channels is how many it subscribes to, or no longer.
	channels int
	// fence and base are what a script at the store compares.
	fence int64
	base  string
}

// event is the command for a history whose time 0 was epoch.
func (c command) event(serial int64, epoch time.Time) *history.Command {
	e := &history.Command{Serial: serial, Name: c.Name, Key: c.Key, Token: c.Token,
		Expiry: int64(c.Expiry), Effect: c.Effect, Unconditional: c.plain(),
		Extends: c.deed != nil && c.deed.Takes && c.deed.Extends, Fence: c.fence, Base: c.base, Others: c.others}
	if c.ends != 0 {
		e.ExpiresAt = int64(time.UnixMilli(c.ends).Sub(epoch))
	}
	return e
}

// plain: it takes the key whether or not it is free.
func (c command) plain() bool {
	if c.deed != nil {
		return c.deed.Takes && c.deed.Plain
	}
	return c.Effect == history.EffectSet && !c.nx && c.digest == ""
}

// does gives the deed that a command is to do, "" for none. Some take a key that is
// free and extend it once it is their client's: it shows from whose key was there.
func (c command) does(owns func(key, token string) bool) string {
	switch c.Effect {
	case history.EffectDelete:
		return history.Release
	case history.EffectExtend:
		return history.Extend
	case history.EffectSet:
		both := c.own || c.plain() || c.deed != nil && c.deed.Extends
		if both && (c.own || owns(c.Key, c.Token)) {
			return history.Extend
		}
		return history.Take
	}
	return ""
}

// done tells from the reply whether the effect took place.
func (c command) done(r value) bool {
	if r.failed() || c.unknown {
		return false
	}
	if c.deed != nil {
		if done, known := c.deed.Done(string(r.data)); known {
			return done
		}
	}
	switch {
	case c.Name == "SET" && c.get && c.own: // the old value: none, so there was nothing to set
		return !r.null
	case c.Name == "SET" && c.get:
		// The old value: none, so the key is taken now; or our own token,
		// which a retry of the same SET meets.
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

// canonical is the name under which a command, or a deed, is counted and intercepted.
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
		c.expires(expiring[c.Name], at(args, 1))
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		c.key(args, history.EffectExtend)
		c.expires(expiring[c.Name], at(args, 1))
	case "PERSIST":
		c.key(args, history.EffectExtend)
	case "GETEX":
		c.key(args, history.EffectRead)
		if len(args) > 1 { // EX, PX, EXAT, PXAT or PERSIST
			c.Effect = history.EffectExtend
			c.expires(at(args, 1), at(args, 2))
		}
	case "DEL", "UNLINK", "GETDEL":
		if c.key(args, history.EffectDelete); len(args) > 1 { // which, if some were there, its answer does not say
			c.others = args[1:]
		}
	case "DELEX", "DELIFEQ":
		c.deleteOwn(args)
	case "GET":
		c.key(args, history.EffectRead)
	case "EVAL", "EVALSHA":
		c.script(args, scripts)
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

// expiring gives SET's option for each command that does the same.
var expiring = map[string]string{
	"SETEX": "EX", "PSETEX": "PX", "EXPIRE": "EX", "PEXPIRE": "PX", "EXPIREAT": "EXAT", "PEXPIREAT": "PXAT",
}

// expires reads an option of SET's. What is not a number gives no expiry that we know.
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
		default: // KEEPTTL, or what a newer server knows
			c.unmodelled(args[:1])
			return
		case "NX":
			c.nx = true
		case "XX":
			c.own = true
		case "IFEQ":
			if i++; at(args, i) == c.Token { // it sets what is there: only the expiry is new
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

// script reads EVAL script numkeys key ... argument ...
func (c *command) script(args []string, scripts *script.Scripts) {
	n, err := strconv.Atoi(at(args, 1))
	if err != nil || n < 0 || n > len(args)-2 {
		return
	}
	if n == 0 { // what it does to which keys is in its text
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

// resolve finds out what a script does. A client may name one whose text
// another sends to the node in the meantime, so it is asked again when the
// command is handed to the node, and when the node has answered.
func (c *command) resolve(scripts *script.Scripts) {
	if len(c.keys) == 0 || c.deed != nil || strings.HasPrefix(c.Key, history.FencePrefix) {
		return
	}
	c.others = c.keysBeside(c.Key)
	body := scripts.Text(c.digest)
	if body == "" {
		return
	}
	deed, ok := scripts.Of(body, c.keys, c.args)
	if !ok || deed.Kind() == "" {
		c.unknown = mayChangeKeys(body)
		return
	}
	c.deed, c.Effect, c.Key, c.Token, c.Expiry = &deed, deed.Kind(), deed.Key, deed.Token, deed.Expiry
	c.others, c.unknown = c.keysBeside(c.Key), false
}

// keysBeside gives a script's other keys: what it does to them is not known.
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
