package link

import (
	"slices"
	"strings"
)

// In RESP3 a node sends messages that nobody asked for: a push begins with >, and an attribute,
// which stands before a reply, with |. In RESP2 what is sent to a subscriber is an array, which
// begins with the same words. SUBSCRIBE and its like have no reply but such a message for each
// channel.

// confirmations are the words with which these commands are confirmed.
var confirmations = []string{"subscribe", "unsubscribe", "psubscribe", "punsubscribe", "ssubscribe", "sunsubscribe"}

// messages are the words of what subscribers are sent.
var messages = []string{"message", "pmessage", "smessage"}

// subscribes says whether a command is confirmed so, in capitals.
func subscribes(name string) bool { return strings.HasSuffix(name, "SUBSCRIBE") }

// answers says whether a message from the node answers the command that waits longest, and
// whether it is the last that does.
func (c *connection) answers(v value) (is, last bool) {
	x := c.awaiting[0]
	if v.kind == '|' {
		return false, false
	}
	word := ""
	if len(v.elements) > 0 && (v.kind == '>' || c.subscribed && v.kind == '*') {
		word = strings.ToLower(v.elements[0].text)
	}
	confirms := slices.Contains(confirmations, word)
	switch {
	case v.kind != '>' && !confirms && !slices.Contains(messages, word):
		return true, true
	case !confirms || x.command.Name != strings.ToUpper(word):
		return false, false
	}
	x.confirmed++
	return true, x.confirmed >= x.command.channels
}
