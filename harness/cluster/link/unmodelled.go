package link

import (
	"regexp"
	"slices"
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

// calls finds the commands that a script calls by their names.
var calls = regexp.MustCompile(`(?i)(?:redis|server)\.p?call\(\s*['"](\w+)['"]`)

// mayChangeKeys reports whether a script may change keys: not every "call" in its text is one of a command that
// changes none.
func mayChangeKeys(body string) bool {
	named := calls.FindAllStringSubmatch(body, -1)
	return strings.Count(body, "call") != len(named) ||
		slices.ContainsFunc(named, func(m []string) bool { return !cluster.ChangesNoKey(strings.ToUpper(m[1])) })
}
