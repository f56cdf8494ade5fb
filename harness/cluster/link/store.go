package link

import (
	"strconv"
	"strings"

	"example.org/lockproof/harness/history"
)

// read reads a command's words for the link's server.
func (l *Link) read(words []string) command {
	if l.cfg.Node == history.StoreName {
		return parseStoreCommand(words)
	}
	return parseCommand(words, l.cfg.Scripts)
}

// parseStoreCommand reads a command to the guarded store: its effect on a register (docs/client-protocol.md, "The
// store"). Other commands have no effect.
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

// register sets the effect on the register of that name, if it is a register's.
func (c *command) register(name string, e history.Effect) {
	if strings.HasPrefix(name, history.RegisterPrefix) {
		c.Key, c.Effect = name, e
	}
}

// storeScript reads EVAL script 2 register fence token [version] of a fenced store, and
// EVAL script 1 register base version of a comparing store.
func (c *command) storeScript(args []string) {
	keys, err := strconv.Atoi(at(args, 1))
	if err != nil || keys < 1 || len(args) < 2+keys {
		return
	}
	operands := args[2+keys:]
	effect := history.EffectRead
	if len(operands) > 1 {
		effect, c.Token, c.nx = history.EffectSet, operands[1], true // a conditional write
	}
	c.register(args[2], effect)
	if keys == 1 {
		c.base = at(operands, 0)
		return
	}
	c.fence, _ = strconv.ParseInt(at(operands, 0), 10, 64) // not a number: a lock without fencing tokens
}
