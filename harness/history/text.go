package history

import (
	"encoding/hex"
	"slices"
	"unicode/utf8"
)

// bytesPrefix begins the text of a token, key or version that is not UTF-8: its bytes in
// hexadecimal follow. JSON has no other way to write them, and U+FFFD would make two
// different tokens one.
const bytesPrefix = "bytes:"

// asText gives a string as a history holds it.
func asText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return bytesPrefix + hex.EncodeToString([]byte(s))
}

// MakeText makes every string of an event one that a file holds as it is. What is judged
// in memory is then what the file says.
func (e *Event) MakeText() {
	makeText(&e.Key, &e.Token, &e.Value, &e.Base, &e.Error, &e.Text)
	if e.Command != nil {
		text := *e.Command // others may hold the command
		makeText(&text.Name, &text.Key, &text.Token, &text.Base, &text.Reply)
		text.Others = slices.Clone(text.Others)
		for i := range text.Others {
			makeText(&text.Others[i])
		}
		e.Command = &text
	}
	if e.Node != nil && len(e.Node.Keys) > 0 {
		text := *e.Node
		text.Keys = map[string]KeyState{}
		for key, state := range e.Node.Keys {
			makeText(&key, &state.Token)
			text.Keys[key] = state
		}
		e.Node = &text
	}
}

func makeText(all ...*string) {
	for _, s := range all {
		*s = asText(*s)
	}
}
