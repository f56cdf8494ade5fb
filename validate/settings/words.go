package settings

import (
	"errors"
	"strings"
)

// errQuotes is what Redis calls unbalanced quotes.
var errQuotes = errors.New("the quotes are not balanced")

// SplitWords splits a line into words as Redis does (sdssplitargs in sds.c):
// "..." with escapes, '...' with \' only, and a blank after a closing quote.
func SplitWords(line string) ([]string, error) {
	var words []string
	for {
		line = strings.TrimLeft(line, " \t\r\n\v\f")
		if line == "" {
			return words, nil
		}
		word, rest, err := nextWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), rest
	}
}

// nextWord reads one word from the beginning of a line that is not blank.
func nextWord(line string) (word, rest string, err error) {
	var b strings.Builder
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case isBlank(c):
			return b.String(), line[i:], nil
		case c == '"' || c == '\'':
			text, length, err := quoted(line[i:])
			if err != nil {
				return "", "", err
			}
			b.WriteString(text)
			// Redis ends the word at its closing quote.
			return b.String(), line[i+length:], nil
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String(), "", nil
}

// quoted reads a quoted text and says how many bytes it takes, quotes included.
func quoted(text string) (value string, length int, err error) {
	var b strings.Builder
	quote := text[0]
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote == '"':
			value, used := escape(text[i:])
			b.WriteByte(value)
			i += used - 1
		case c == '\\' && strings.HasPrefix(text[i:], `\'`):
			b.WriteByte('\'')
			i++
		case c == quote:
			if i+1 < len(text) && !isBlank(text[i+1]) {
				return "", 0, errQuotes
			}
			return b.String(), i + 1, nil
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, errQuotes
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}

// escape reads \xHH, \n and the like, and says how many bytes it takes.
func escape(text string) (value byte, used int) {
	if len(text) >= 4 && text[1] == 'x' && isHex(text[2]) && isHex(text[3]) {
		return unhex(text[2])<<4 | unhex(text[3]), 4
	}
	if len(text) < 2 {
		return '\\', 1
	}
	if c, ok := escapes[text[1]]; ok {
		return c, 2
	}
	return text[1], 2
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 10
	}
	return c - 'A' + 10
}
