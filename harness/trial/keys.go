package trial

import (
	"slices"
	"strings"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

// withCallerKeys replaces the servers' names of keys in events by the callers' names, if the lock declares its naming.
// A lock with several names for one key keeps them: each may be another client's.
func (p *Plan) withCallerKeys(record func(history.Event)) func(history.Event) {
	if len(p.Lock.Keys) != 1 || strings.Count(p.Lock.Keys[0], locks.KeyPlaceholder) != 1 {
		return record
	}
	before, after, _ := strings.Cut(p.Lock.Keys[0], locks.KeyPlaceholder)
	callerKey := func(key string) string {
		inner, begins := strings.CutPrefix(key, before)
		if inner, ends := strings.CutSuffix(inner, after); begins && ends && inner != "" {
			return inner
		}
		return key
	}
	return func(e history.Event) {
		switch {
		case e.Command != nil:
			c := *e.Command
			c.Key = callerKey(c.Key)
			c.Others = slices.Clone(c.Others)
			for i, word := range c.Others {
				c.Others[i] = callerKey(word)
			}
			e.Key, e.Command = c.Key, &c
		case e.Node != nil && len(e.Node.Keys) > 0:
			n := *e.Node
			n.Keys = make(map[string]history.KeyState, len(e.Node.Keys))
			for key, state := range e.Node.Keys {
				n.Keys[callerKey(key)] = state
			}
			e.Node = &n
		}
		record(e)
	}
}
