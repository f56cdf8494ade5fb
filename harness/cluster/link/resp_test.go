package link

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/input/inputtest"
)

func TestLength(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int // 0: not whole yet
	}{
		{"", 0}, {"+", 0}, {"+OK", 0}, {"+OK\r", 0}, {"+OK\r\n", 5}, {"+OK\r\n:1\r\n", 5},
		{"-ERR no\r\n", 9}, {":-1\r\n", 5}, {"_\r\n", 3}, {"#t\r\n", 4}, {",1.5\r\n", 6}, {"(123\r\n", 6},
		{"$-1\r\n", 5}, {"$0\r\n\r\n", 6}, {"$3\r\nabc\r\n", 9}, {"$3\r\nabc\r", 0}, {"$3\r\n", 0}, {"$3", 0},
		{"$2\r\n\r\n\r\n", 8}, // a string may hold a line's end
		{"=7\r\ntxt:abc\r\n", 13}, {"!3\r\nERR\r\n", 9},
		{"*-1\r\n", 5}, {"*0\r\n", 4}, {"*2\r\n:1\r\n:2\r\n", 12}, {"*2\r\n:1\r\n", 0}, {"*1\r\n*1\r\n$1\r\na\r\n", 15},
		{"%1\r\n+a\r\n:1\r\n", 12}, {"%1\r\n+a\r\n", 0}, {"~1\r\n:1\r\n", 8}, {">1\r\n+x\r\n", 8},
	} {
		n, err := length([]byte(c.in))
		require.NoError(t, err, "%q", c.in)
		require.Equal(t, c.want, n, "%q", c.in)
	}
	for _, in := range []string{
		"PING\r\n", "x", "$x\r\n", "$-2\r\n", "$\r\n", "*1x\r\n", "$536870913\r\n", "*99999999999999999999\r\n",
		"$" + strings.Repeat("1", 40), strings.Repeat("*1\r\n", maxDepth+2), "*1\r\nGET\r\n",
	} {
		_, err := length([]byte(in))
		require.ErrorIs(t, err, errNotRESP, "%q", in)
	}
}

func TestParseReply(t *testing.T) {
	for in, want := range map[string]reply{
		"+OK\r\n":             {text: "OK"},
		":2\r\n":              {text: "2", integer: 2},
		":-2\r\n":             {text: "-2", integer: -2},
		"$3\r\nabc\r\n":       {text: "abc"},
		"$0\r\n\r\n":          {text: ""},
		"$-1\r\n":             {text: "nil", null: true},
		"*-1\r\n":             {text: "nil", null: true},
		"_\r\n":               {text: "nil", null: true},
		"-ERR no\r\n":         {text: "error: ERR no", err: true},
		"*2\r\n:1\r\n:2\r\n":  {text: "array of 2"},
		"#t\r\n":              {text: "t"},
		"-NOSCRIPT no such\r": {},
		"":                    {},
	} {
		want.raw = in
		require.Equal(t, want, parseReply([]byte(in)), "%q", in)
	}
}

func TestShorten_CutsNoCharacterInTwo(t *testing.T) {
	require.Equal(t, strings.Repeat("a", 61)+"...", shorten(strings.Repeat("a", 65)))
	require.Equal(t, strings.Repeat("é", 30)+"...", shorten(strings.Repeat("é", 40)))
}

// FuzzRESP holds the reader to what it promises of any bytes: it does not
// panic, it never claims more than there is, and what it finds whole it finds
// whole again with more behind it, and not whole with anything missing.
func FuzzRESP(f *testing.F) {
	for _, seed := range []string{
		"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", "+OK\r\n", "$-1\r\n", "*-1\r\n", ":1\r\n", "%1\r\n+a\r\n_\r\n", "=7\r\ntxt:abc\r\n",
		"!3\r\nERR\r\n", "-ERR\r\n", "*1\r\n$-1\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "$0\r\n\r\n", "=-1\r\n", "!0\r\n\r\n",
		"*0\r\n", "PING\r\n",
		"*536870912\r\n", strings.Repeat("*1\r\n", 50_000), "$536870912\r\n", strings.Repeat("*2\r\n", 17),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var n int
		var err error
		inputtest.Bounded(t, len(b), func() { n, err = length(b) })
		if err != nil || n == 0 {
			return
		}
		require.Positive(t, n)
		require.LessOrEqual(t, n, len(b))
		again, err := length(b[:n])
		require.NoError(t, err)
		require.Equal(t, n, again)
		less, err := length(b[:n-1])
		require.True(t, less == 0 && err == nil, "%q is whole already without its last byte", b[:n])
		arguments(b[:n])
		parseReply(b[:n])
		parseCommand(b[:n], NewScripts())
	})
}
