package link

import (
	"regexp"
	"slices"
	"strings"

	"example.org/lockproof/harness/cluster"
)

// maxWords and maxBytes bound the words of an unmodelled command in a history. A longer one counts as one that may
// change every key.
const maxWords, maxBytes = 32, 1024

// unmodelled marks the effect on each of these words as unknown, as any may be a key; without words, on every key.
func (c *command) unmodelled(words []string) {
	c.Effect, c.Token, c.Expiry, c.ends, c.unknown = "", "", 0, 0, true
	c.Key, c.others = "", nil
	if len(words) > 0 && len(words) <= maxWords && len(strings.Join(words, "")) <= maxBytes {
		c.Key, c.others = words[0], words[1:]
	}
	if len(c.others) == 0 {
		c.others = nil
	}
}

// calls matches a script's calls of named commands.
var calls = regexp.MustCompile(`(?i)(?:redis|server)\.p?call\(\s*['"](\w+)['"]`)

// mayChangeKeys reports whether a script may change keys: some "call" in its text is not of a command known to change
// none.
func mayChangeKeys(body string) bool {
	named := calls.FindAllStringSubmatch(body, -1)
	return strings.Count(body, "call") != len(named) ||
		slices.ContainsFunc(named, func(m []string) bool { return !cluster.ChangesNoKey(strings.ToUpper(m[1])) })
}
