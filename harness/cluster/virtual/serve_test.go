package virtual

import (
	"bufio"
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
		{"an end in the middle", "*2\r\n$4\r\nEC", "", "EOF"},
		{"an end before the end of line", "*1\r\n$4\r\nPING", "", "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, err := readCommand(bufio.NewReader(strings.NewReader(c.sent)))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, strings.Join(args, " "))
		})
	}
}

// TestReadCommandTakesAnything feeds it what may look like RESP.
func TestReadCommandTakesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.StringOf(rapid.SampledFrom([]rune("*$-0123\r\na"))).Draw(t, "sent")
		args, err := readCommand(bufio.NewReader(strings.NewReader(sent)))
		require.True(t, err != nil || len(args) > 0)
	})
}
