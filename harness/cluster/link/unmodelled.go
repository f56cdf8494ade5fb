package link

import (
	"strings"

	"example.org/lockproof/harness/cluster"
)

// mostWords and mostBytes are how much of a command that we do not know a history keeps. One
// that says more is taken for one that may change every key.
const mostWords, mostBytes = 32, 1024

// unmodelled: what it does to any of these, we cannot say; of none, to any key.
func (c *command) unmodelled(words []string) {
	c.Effect, c.Token, c.Expiry, c.ends, c.unknown = "", "", 0, 0, true
	c.Key, c.others = "", nil
	if len(words) > 0 && len(words) <= mostWords && len(strings.Join(words, "")) <= mostBytes {
		c.Key, c.others = words[0], words[1:]
	}
	if len(c.others) == 0 {
		c.others = nil
	}
}

// changesKeys reports whether a script may change keys: it calls something that does.
func changesKeys(body string) bool {
	for _, m := range reading.FindAllStringSubmatch(body, -1) {
		if !cluster.ChangesNoKey(strings.ToUpper(m[1])) {
			return true
		}
	}
	return false
}
