package settings

import (
	"errors"
	"strconv"
	"strings"
)

// errQuotes is what Redis calls unbalanced quotes.
var errQuotes = errors.New("the quotes are not balanced")

// SplitWords splits a line into words as Redis does (sdssplitargs in sds.c):
// "..." with escapes, '...' with \' only, and a blank after a closing quote.
func SplitWords(line string) (words []string, err error) {
	for line = trimBlanks(line); line != ""; line = trimBlanks(line) {
		var b strings.Builder
		quote, end := byte(0), false
		i := 0
		for ; i < len(line) && !end; i++ {
			switch c := line[i]; {
			case quote == 0 && isBlank(c):
				end = true
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case c == '\\' && quote == '"':
				value, used := escape(line[i:])
				b.WriteByte(value)
				i += used - 1
			case quote == '\'' && strings.HasPrefix(line[i:], `\'`):
				b.WriteByte('\'')
				i++
			case quote != 0 && c == quote: // Redis ends the word here
				if quote, end = 0, true; i+1 < len(line) && !isBlank(line[i+1]) {
					return nil, errQuotes
				}
			default:
				b.WriteByte(c)
			}
		}
		if quote != 0 {
			return nil, errQuotes
		}
		words, line = append(words, b.String()), line[i:]
	}
	return words, nil
}

var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'b': '\b', 'a': '\a'}

// escape decodes \xHH, \n and the like, and returns the number of bytes that it uses.
func escape(text string) (value byte, used int) {
	if len(text) >= 4 && text[1] == 'x' {
		if n, err := strconv.ParseUint(text[2:4], 16, 8); err == nil && text[2] != '+' {
			return byte(n), 4
		}
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

func trimBlanks(line string) string { return strings.TrimLeft(line, " \t\r\n\v\f") }
