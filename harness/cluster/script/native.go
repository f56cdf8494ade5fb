package script

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// Native is a script that is carried out in Go. miniredis makes a new Lua state, with
// all its libraries, for each call: a third of the processor time that the catalogue
// took in virtual time. A test of the virtual cluster holds each against miniredis's Lua.
type Native struct {
	Text       string
	Digest     string // its name in EVALSHA
	Keys, Args int    // how many of each it is called with
	// do is what the script does: to an integer, a string, or nil for Lua's false. It
	// changes nothing before a command that can fail.
	do func(c *calls, keys, args []string) any
}

// Natives lists them.
func Natives() []Native { return slices.Clone(natives) }

// nativeByText and nativeByDigest know them by their exact text, and by its SHA-1.
var nativeByText, nativeByDigest = func() (byText, byDigest map[string]Native) {
	byText, byDigest = map[string]Native{}, map[string]Native{}
	for i := range natives {
		n := &natives[i]
		n.Digest = Digest(n.Text)
		byText[n.Text], byDigest[n.Digest] = *n, *n
	}
	return byText, byDigest
}()

// Digest is the name of a script in EVALSHA.
func Digest(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// NativeOf gives the native script that a call of EVAL or EVALSHA is of, if it is of one.
func NativeOf(args []string) (n Native, found bool) {
	if len(args) < 3 {
		return n, false
	}
	switch {
	case strings.EqualFold(args[0], "EVALSHA"):
		n, found = nativeByDigest[args[1]]
	case strings.EqualFold(args[0], "EVAL"):
		n, found = nativeByText[args[1]]
	}
	return n, found && len(args) == 3+n.Keys+n.Args
}

// Run carries out such a call. It gives false, and has changed nothing, where the
// answer is not that of the script's plain course, as an argument or a key is not what
// it should be: that is Lua's to answer.
func (n Native) Run(c *Console, args []string) (answer any, ok bool) {
	if keys, err := strconv.Atoi(args[2]); err != nil || keys != n.Keys {
		return nil, false
	}
	of := &calls{console: c}
	answer = n.do(of, args[3:3+n.Keys], args[3+n.Keys:])
	return answer, !of.failed
}

// Write writes the answer of a native script.
func Write(to *server.Peer, answer any) {
	switch answer := answer.(type) {
	case int:
		to.WriteInt(answer)
	case string:
		to.WriteBulk(answer)
	default:
		to.WriteNull()
	}
}

// calls are the commands that a script gives.
type calls struct {
	console *Console
	failed  bool // a command, or what else Lua would raise an error for
}

// call gives the reply in RESP.
func (c *calls) call(args ...string) string {
	reply := c.console.Eval(args...)
	c.failed = c.failed || strings.HasPrefix(reply, "-")
	return reply
}

// integer gives the integer that a command answers.
func (c *calls) integer(args ...string) int {
	i, _ := strconv.Atoi(strings.Trim(c.call(args...), ":\r\n"))
	return i
}

// get gives the value of a key; there is false if it has none.
func (c *calls) get(key string) (value string, there bool) {
	length, value, _ := strings.Cut(c.call("GET", key), "\r\n")
	return strings.TrimSuffix(value, "\r\n"), length != "$-1" && !c.failed
}

// holds says whether a key has that value.
func (c *calls) holds(key, value string) bool {
	present, there := c.get(key)
	return there && present == value
}

// number is tonumber of a string of decimal digits, few enough that Lua's floating
// point is exact. Lua takes more forms: those are left to it.
func (c *calls) number(s string) int64 {
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil || len(s) > 15 {
		c.failed = true
	}
	return i
}
