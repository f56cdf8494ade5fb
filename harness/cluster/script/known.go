package script

import "sync"

// known are the deeds of native scripts that only compare their token, and depend on
// nothing else but their other arguments: all runs of a process share them. To rehearse each anew in every run, and to
// name every call by all its words, took a thirtieth of a short one.
type known struct {
	mu     sync.Mutex
	stored map[string]int // which argument a script's token is, by its text
	deeds  map[call]Effect
}

var builtinEffects = known{stored: map[string]int{}, deeds: map[call]Effect{}}

// call is a call of a native script, but for its token, of which the length is enough.
type call struct {
	text          string
	first, second string // its keys
	one, two      string // its arguments
	token         int    // its length
}

// callOf names a call whose token is that argument; -1: none. No native script has more
// than two keys and two arguments.
func callOf(text string, keys, args []string, stored int) call {
	c := call{text: text, first: at(keys, 0), second: at(keys, 1), one: at(args, 0), two: at(args, 1)}
	switch stored {
	case 0:
		c.token, c.one = len(c.one), ""
	case 1:
		c.token, c.two = len(c.two), ""
	}
	return c
}

// find gives the deed of a call that is known.
func (k *known) find(text string, keys, args []string) (d Effect, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if stored, seen := k.stored[text]; seen && len(keys) <= 2 && len(args) <= 2 {
		d, found = k.deeds[callOf(text, keys, args, stored)]
	}
	return d, found
}

// add notes the deed of a call.
func (k *known) add(text string, keys, args []string, d Effect) {
	if len(keys) > 2 || len(args) > 2 {
		return // it is called as it is not meant to be
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.deeds) >= maxEffects {
		clear(k.deeds)
	}
	k.stored[text] = d.stored
	k.deeds[callOf(text, keys, args, d.stored)] = d
}
