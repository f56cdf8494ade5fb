package settings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/nemesis"
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

// The flags lead to this server, where another one may listen on the default port.
func TestClientReachesThisServer(t *testing.T) {
	for lines, want := range map[string]string{
		"":                                     "redis-cli",
		"bind * -::*":                          "redis-cli",
		"requirepass \"\"":                     "redis-cli",
		"requirepass secret\nport 7000":        "redis-cli --askpass -p 7000",
		"bind 10.0.0.5 127.0.0.1\nport 6380":   "redis-cli -p 6380",
		"bind 10.0.0.5":                        "redis-cli -h 10.0.0.5",
		"port 0\nunixsocket /run/redis/r.sock": "redis-cli -s /run/redis/r.sock",
		"port 0\ntls-port 6390":                "redis-cli --tls -p 6390",
		"port 6379\nport 7000\ntls-port 7001":  "redis-cli -p 7000",
	} {
		r, err := ParseRedis("redis.conf", lines)
		require.NoError(t, err)
		require.Equal(t, want, r.Client(), lines)
	}
}

// Whatever a nemesis can do that takes a node down is a crash that is asked about.
func TestEveryFaultThatTakesANodeDownIsACrash(t *testing.T) {
	var down []string
	for _, d := range nemesis.Declarations() {
		if d.Node != nil && d.Node.Class == history.NodeDown {
			down = append(down, string(d.Kind))
		}
	}
	require.ElementsMatch(t, down, CrashNames())
}
