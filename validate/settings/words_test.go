package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An operator's quotes and escapes are read as Redis does (sdssplitargs in sds.c).
func TestSplitWords_AsRedisDoes(t *testing.T) {
	for line, want := range map[string][]string{
		`"\x00\x09\x90\x99"`:         {"\x00\x09\x90\x99"},
		`"\xaf\xfa\xAF\xFA\x0a\x0A"`: {"\xaf\xfa\xaf\xfa\n\n"},
		`"\x/0\x:0\x@0\xG0"`:         {"x/0x:0x@0xG0"}, // beside the digits and the letters there are none
		"\"\\x`0\\xg0\"":             {"x`0xg0"},
		`"\x0/\x0:\x0@\x0G\x4"`:      {"x0/x0:x0@x0Gx4"},
		`"\n\r\t\b\a\q\\\""`:         {"\n\r\t\b\aq\\\""},
		`'\n\' "' x`:                 {`\n' "`, "x"},
		`"it's" ''`:                  {"it's", ""},
		"a\tb\nc\vd\fe\rf g":         {"a", "b", "c", "d", "e", "f", "g"},
		"a\bb\x0ec":                  {"a\bb\x0ec"},
		"  a  ":                      {"a"},
		"   ":                        nil,
		`pre"fix"`:                   {"prefix"},
		`a "\x41\n\"" 'it\'s'`:       {"a", "A\n\"", "it's"},
	} {
		got, err := SplitWords(line)
		require.NoError(t, err, line)
		require.Equal(t, want, got, line)
	}
	for _, line := range []string{`"`, `"a`, `"a\"`, `"a\`, `"\x41`, `'`, `'a\'`, `"a"b`, `'a'b`, `a "b"c`} {
		_, err := SplitWords(line)
		require.ErrorIs(t, err, errQuotes, line)
	}
}

// A directive is written so that it can be read again.
func TestADirectiveAsALine(t *testing.T) {
	for want, args := range map[string][]string{
		`x`: nil, `x a`: {"a"}, `x ""`: {""}, `x "a b" c`: {"a b", "c"}, "x \"a\tb\"": {"a\tb"},
	} {
		require.Equal(t, want, Directive{Name: "x", Args: args}.String())
	}
}
