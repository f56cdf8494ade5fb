package link

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/internal/input/inputtest"
)

// Bytes after a value do not belong to it.
func TestRead_CompleteOnlyWithItsLastByte(t *testing.T) {
	for _, whole := range []string{
		"+OK\r\n", "-ERR no\r\n", ":-1\r\n", "_\r\n", "#t\r\n", ",1.5\r\n", "(123\r\n", "$-1\r\n", "$0\r\n\r\n",
		"$3\r\nabc\r\n",
		"$2\r\n\r\n\r\n", // a string may hold a line's end
		"=7\r\ntxt:abc\r\n", "!3\r\nERR\r\n", "*-1\r\n", "*0\r\n", "*2\r\n:1\r\n:2\r\n", "*1\r\n*1\r\n$1\r\na\r\n",
		"%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n", ">1\r\n+x\r\n", "|1\r\n+a\r\n:1\r\n",
	} {
		for n := range whole {
			v, err := read([]byte(whole[:n]))
			require.NoError(t, err, "%q", whole[:n])
			require.Nil(t, v.data, "%q", whole[:n])
		}
		v, err := read([]byte(whole + "*1"))
		require.NoError(t, err)
		require.Equal(t, whole, string(v.data))
	}
	for _, in := range []string{
		"PING\r\n", "x", "$x\r\n", "$-2\r\n", "$\r\n", "*1x\r\n", "$536870913\r\n", "*99999999999999999999\r\n",
		"$" + strings.Repeat("1", 40), strings.Repeat("*1\r\n", maxDepth+2), "*1\r\nGET\r\n",
	} {
		_, err := read([]byte(in))
		require.ErrorIs(t, err, errNotRESP, "%q", in)
	}
}

func TestValue_String(t *testing.T) {
	for in, want := range map[string]string{
		"+OK\r\n": "OK", ":2\r\n": "2", "$3\r\nabc\r\n": "abc", "$0\r\n\r\n": "", "$-1\r\n": "nil", "*-1\r\n": "nil",
		"_\r\n":       "nil",
		"-ERR no\r\n": "error: ERR no", "!3\r\nERR\r\n": "error: ERR", "*2\r\n:1\r\n:2\r\n": "array of 2", "#t\r\n": "t",
	} {
		require.Equal(t, want, reply(t, in).String(), "%q", in)
	}
}

// reply parses a reply.
func reply(t *testing.T, text string) value {
	v, err := read([]byte(text))
	require.NoError(t, err)
	require.NotNil(t, v.data, "%q", text)
	return v
}

func TestShorten_KeepsCharactersWhole(t *testing.T) {
	require.Equal(t, strings.Repeat("a", 61)+"...", shorten(strings.Repeat("a", 65)))
	require.Equal(t, strings.Repeat("é", 30)+"...", shorten(strings.Repeat("é", 40)))
}

// FuzzRESP checks the reader on any bytes: it does not panic, it consumes no more than its input, and a complete value
// is complete exactly with its last byte.
func FuzzRESP(f *testing.F) {
	for _, seed := range []string{
		"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n", "+OK\r\n", "$-1\r\n", "*-1\r\n", ":1\r\n", "%1\r\n+a\r\n_\r\n",
		"=7\r\ntxt:abc\r\n",
		"!3\r\nERR\r\n", "-ERR\r\n", "*1\r\n$-1\r\n", "*2\r\n$1\r\na\r\n:1\r\n", "$0\r\n\r\n", "=-1\r\n", "!0\r\n\r\n",
		"*0\r\n", "PING\r\n",
		"*536870912\r\n", strings.Repeat("*1\r\n", 50_000), "$536870912\r\n", strings.Repeat("*2\r\n", 17),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var v value
		var err error
		inputtest.Bounded(t, len(b), func() { v, err = read(b) })
		if err != nil || v.data == nil {
			return
		}
		n := len(v.data)
		require.Equal(t, b[:n], v.data)
		again, err := read(b[:n])
		require.NoError(t, err)
		require.Equal(t, v, again)
		less, err := read(b[:n-1])
		require.True(t, less.data == nil && err == nil, "%q is whole already without its last byte", b[:n])
		_ = v.String()
		parseCommand(v.words(), script.New())
	})
}
