package link

import (
	"strconv"
	"strings"

	"example.org/lockproof/harness/history"
)

// read reads a command's words for what it means at the link's other end.
func (l *Link) read(words []string) command {
	if l.cfg.Node == history.StoreName {
		return parseStoreCommand(words)
	}
	return parseCommand(words, l.cfg.Scripts)
}

// parseStoreCommand reads a command to the store that the lock guards: what it does to
// a register, as docs/client-protocol.md has it ("The store"). All else means nothing.
func parseStoreCommand(args []string) command {
	if len(args) == 0 {
		return command{}
	}
	c := command{Name: strings.ToUpper(args[0])}
	args = args[1:]
	switch c.Name {
	case "GET":
		c.register(at(args, 0), history.EffectRead)
	case "SET":
		c.register(at(args, 0), history.EffectSet)
		c.Token = at(args, 1)
	case "EVAL", "EVALSHA":
		c.storeScript(args)
	}
	return c
}

// register notes what is done to the register of that name, if it is one.
func (c *command) register(name string, e history.Effect) {
	if strings.HasPrefix(name, history.RegisterPrefix) {
		c.Key, c.Effect = name, e
	}
}

// storeScript reads EVAL script 2 register fence token [version] of a fenced store, and
// EVAL script 1 register base version of one that compares.
func (c *command) storeScript(args []string) {
	keys, err := strconv.Atoi(at(args, 1))
	if err != nil || keys < 1 || len(args) < 2+keys {
		return
	}
	given := args[2+keys:]
	effect := history.EffectRead
	if len(given) > 1 {
		effect, c.Token, c.nx = history.EffectSet, given[1], true // it asks first
	}
	c.register(args[2], effect)
	if keys == 1 {
		c.base = at(given, 0)
		return
	}
	c.fence, _ = strconv.ParseInt(at(given, 0), 10, 64) // not a number: a lock without tokens
}
