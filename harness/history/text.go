package history

import (
	"encoding/hex"
	"slices"
	"unicode/utf8"
)

// bytesPrefix begins the text of a token, key or version that is not UTF-8, before its bytes in hexadecimal. JSON
// cannot contain such bytes, and U+FFFD would make different tokens equal.
const bytesPrefix = "bytes:"

// asText is a string's text in a history.
func asText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return bytesPrefix + hex.EncodeToString([]byte(s))
}

// MakeText replaces every string of an event by its text in a file, so that an event in memory equals the one in the
// file.
func (e *Event) MakeText() {
	makeText(&e.Key, &e.Token, &e.Value, &e.Base, &e.Error, &e.Text)
	if e.Command != nil {
		text := *e.Command // a copy: the command may be shared
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
