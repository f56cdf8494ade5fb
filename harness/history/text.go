package history

import (
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"
)

// BytesPrefix begins the text of a token, key or version that is not UTF-8: its bytes in
// hexadecimal follow. JSON has no other way to write them, and U+FFFD would make two
// different tokens one.
const BytesPrefix = "bytes:"

// Text gives a string as a history holds it.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return BytesPrefix + hex.EncodeToString([]byte(s))
}

// MakeText makes every string of an event one that a file holds as it is. What is judged
// in memory is then what the file says.
func (e *Event) MakeText() {
	for _, s := range []*string{&e.Key, &e.Token, &e.Value, &e.Base, &e.Error, &e.Text} {
		*s = Text(*s)
	}
	if c := e.Command; c != nil && !c.isText() {
		text := *c // others may hold the command
		for _, s := range []*string{&text.Name, &text.Key, &text.Token, &text.Base, &text.Reply} {
			*s = Text(*s)
		}
		text.Others = slices.Clone(c.Others)
		for i, word := range text.Others {
			text.Others[i] = Text(word)
		}
		e.Command = &text
	}
	if n := e.Node; n != nil && !n.isText() {
		text := *n
		text.Keys = map[string]KeyState{}
		for key, state := range n.Keys {
			text.Keys[Text(key)] = KeyState{Token: Text(state.Token), TTL: state.TTL}
		}
		e.Node = &text
	}
}

func (c *Command) isText() bool {
	return utf8.ValidString(c.Name) && utf8.ValidString(c.Key) && utf8.ValidString(c.Token) &&
		utf8.ValidString(c.Base) && utf8.ValidString(c.Reply) && utf8.ValidString(strings.Join(c.Others, ""))
}

func (n *Node) isText() bool {
	for key, state := range n.Keys {
		if !utf8.ValidString(key) || !utf8.ValidString(state.Token) {
			return false
		}
	}
	return true
}
