package virtual

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReadCommand(t *testing.T) {
	for _, c := range []struct{ name, sent, want, err string }{
		{"a command", "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n", "SET k a\r\nb", ""},
		{"an empty argument", "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", "ECHO ", ""},
		{"an inline command", "PING\r\n", "", `expected '*', got "PING"`},
		{"an empty line", "\r\n", "", `expected '*', got ""`},
		{"an empty command", "*0\r\n", "", "an empty command"},
		{"a negative length", "*1\r\n$-1\r\n", "", `invalid length "$-1"`},
		{"a huge one", "*1\r\n$999999999999\r\n", "", `invalid length "$999999999999"`},
		{"no number", "*x\r\n", "", `invalid length "*x"`},
		{"an integer for an argument", "*1\r\n:1\r\n", "", `expected '$', got ":1"`},
		{"many arguments", "*9\r\n$4\r\nMGET" + strings.Repeat("\r\n$1\r\nk", 8) + "\r\n", "MGET k k k k k k k k", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, size, err := readCommand([]byte(c.sent + "*1\r\n"))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, len(c.sent), size)
			require.Equal(t, c.want, strings.Join(args, " "))
			for cut := range c.sent {
				_, size, err := readCommand([]byte(c.sent[:cut]))
				require.NoError(t, err, cut)
				require.Zero(t, size, "the rest is still to come: %q", c.sent[:cut])
			}
		})
	}
}

// TestReadCommandTakesAnything feeds it what may look like RESP.
func TestReadCommandTakesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.StringOf(rapid.SampledFrom([]rune("*$-0123\r\na"))).Draw(t, "sent")
		args, size, err := readCommand([]byte(sent))
		require.True(t, size <= len(sent) && (err == nil || size == 0) && (len(args) > 0) == (size > 0))
	})
}
