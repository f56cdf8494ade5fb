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
func (c *connection) answers(data []byte) (is, last bool) {
	x := c.awaiting[0]
	if len(data) == 0 || data[0] == '|' {
		return false, false
	}
	word := ""
	if data[0] == '>' || c.subscribed && data[0] == '*' {
		word = firstWord(data)
	}
	confirms := slices.Contains(confirmations, word)
	switch {
	case data[0] != '>' && !confirms && !slices.Contains(messages, word):
		return true, true
	case !confirms || x.command.Name != strings.ToUpper(word):
		return false, false
	}
	x.confirmed++
	return true, x.confirmed >= x.command.channels
}

// firstWord is the first element of an array or a push that begins with a string.
func firstWord(data []byte) string {
	_, rest, _ := strings.Cut(string(data[:min(len(data), 64)]), "\r\n")
	_, rest, _ = strings.Cut(rest, "\r\n")
	word, _, _ := strings.Cut(rest, "\r\n")
	return strings.ToLower(word)
}
