package link

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/history"
)

// resp encodes a command.
func resp(args ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.Bytes()
}

// requireMeans compares a command's fields, except for its name, which is the first word of text, and a script's words.
func requireMeans(t *testing.T, text, want string, c command) {
	t.Helper()
	var known []string
	for field, value := range reflect.ValueOf(c).Fields() {
		if !value.IsZero() && !slices.Contains([]string{"Name", "digest", "keys", "args", "script"}, field.Name) {
			known = append(known, fmt.Sprintf("%s %v", strings.ToLower(field.Name), value))
		}
	}
	require.Equal(t, want, strings.Join(known, ", "), text)
	require.Equal(t, strings.ToUpper(strings.Fields(text)[0]), c.Name)
}

func TestParseCommand_FindsMeaning(t *testing.T) {
	for text, want := range map[string]string{
		"SET k1 a":              "key k1, token a, effect set",
		"set k1 a nx px 1000":   "key k1, token a, expiry 1s, effect set, nx true",
		"SET k1 a EX 2 NX GET":  "key k1, token a, expiry 2s, effect set, get true, nx true",
		"SET k1 a PX":           "key k1, token a, effect set",
		"SET":                   "",
		"SETNX k1 a":            "key k1, token a, effect set, nx true",
		"PEXPIRE k1 1500":       "key k1, expiry 1.5s, effect extend",
		"EXPIRE k1 2":           "key k1, expiry 2s, effect extend",
		"SET k1 a NX PXAT 5000": "key k1, token a, ends 5000, effect set, nx true",
		"SET k1 a NX EXAT 5":    "key k1, token a, ends 5000, effect set, nx true",
		"SET k1 PX NX PX 5":     "key k1, token PX, expiry 5ms, effect set, nx true",
		"SET k1 a XX PX 5":      "key k1, token a, expiry 5ms, effect set, own true",
		"PEXPIREAT k1 5000":     "key k1, ends 5000, effect extend",
		"EXPIREAT k1 5":         "key k1, ends 5000, effect extend",
		"PSETEX k1 70 a":        "key k1, token a, expiry 70ms, effect set",
		"SETEX k1 7 a":          "key k1, token a, expiry 7s, effect set",
		"GETSET k1 a":           "key k1, token a, effect set",
		"GETEX k1 PX 5":         "key k1, expiry 5ms, effect extend",
		"GETEX k1":              "key k1, effect read",
		"PERSIST k1":            "key k1, effect extend",
		"INCR k1":               "key k1, unknown true",
		"RENAMENX a k1":         "key a, unknown true, others [k1]",
		"COPY k1 k2 REPLACE":    "key k1, unknown true, others [k2 REPLACE]",
		"DEL k1 k2":             "key k1, effect delete, others [k2]",
		"SET k1 a XX KEEPTTL":   "key k1, own true, unknown true",
		"HSETNX " + strings.Repeat("a", maxBytes) + " b": "unknown true",
		"FLUSHALL ASYNC":        "unknown true",
		"EXISTS k1":             "",
		"DEL k1":                "key k1, effect delete",
		"UNLINK k1":             "key k1, effect delete",
		"DELEX k1":              "key k1, effect delete",
		"DELEX k1 ifeq a":       "key k1, token a, effect delete",
		"DELEX k1 IFNE a":       "key k1, effect delete",
		"DELIFEQ k1 a":          "key k1, token a, effect delete",
		"SET k1 a IFEQ a PX 5":  "key k1, token a, expiry 5ms, effect extend, own true",
		"SET k1 a IFEQ NX PX 5": "key k1, token a, expiry 5ms, effect set, own true",
		"GET k1":                "key k1, effect read",
		"PING":                  "",
		// A fencing counter is not a lock.
		"SET fence:k1 7": "key fence:k1, token 7",
		"GET fence:k1":   "key fence:k1",
		"INCR fence:k1":  "key fence:k1",
		"EVAL":           "",
	} {
		requireMeans(t, text, want, parseCommand(strings.Fields(text), script.New()))
	}
	require.Equal(t, command{}, parseCommand(nil, script.New()))
}

const compareAndDelete = `if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0`

// setSecondKey takes its second key; its second argument is no expiry.
const setSecondKey = `redis.call('get', KEYS[1]) return redis.call('set', KEYS[2], ARGV[3], 'nx', 'px', ARGV[1])`

func TestParseCommand_Script_FindsMeaning(t *testing.T) {
	for _, c := range []struct{ name, script, operands, want string }{
		{"compares and deletes", compareAndDelete, "1 k1 a", "key k1, token a, effect delete"},
		{"takes another key than the first", setSecondKey, "2 other k1 900 22 a",
			"key k1, token a, expiry 900ms, effect set, others [other]"},
		{"changes another key, too", `redis.call('set', KEYS[1], ARGV[1]) return redis.call('incr', KEYS[3])`,
			"3 k1 fence:k1 k2 a", "key k1, token a, effect set, others [k2]"},
		{"a fencing counter is no lock", `return redis.call('SET', KEYS[1], ARGV[1])`, "1 fence:k1 7",
			"key fence:k1, token 7"},
		{"reads, but its answer is no token", `if redis.call("get", KEYS[1]) == ARGV[1] then return 1 end return 0`,
			"1 k1 a", "key k1, token a"},
		{"reads the expiry", "return redis.call('pttl', KEYS[1])", "1 k1", "key k1"},
		{"cannot run in the sandbox", "while true do redis.call('del', KEYS[1]) end", "1 k1", "key k1, unknown true"},
		{"changes a value that is no token", "while false do end return redis.call('incr', KEYS[1])", "1 k1",
			"key k1, unknown true"},
		{"is refused: fewer keys than it says", "return 1", "3 k1", ""},

		// Without keys its text decides whether it may change one.
		{"calls nothing", "return 1", "0", ""},
		{"gets", `return redis.call("get", KEYS[1])`, "0", ""},
		{"asks for the expiry", `if server.pcall( 'pttl', KEYS[1]) > 0 then return 1 end`, "0", ""},
		{"deletes", "return redis.call('del', 'k1')", "0", "unknown true"},
		{"gets and deletes", `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', k) end`, "0",
			"unknown true"},
		{"calls by another name", `local call = redis.call return call('DEL', KEYS[1])`, "0", "unknown true"},
		{"calls what its argument names", `return redis.call(ARGV[1], KEYS[1])`, "0", "unknown true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			words := append([]string{"EVAL", c.script}, strings.Fields(c.operands)...)
			requireMeans(t, "EVAL", c.want, parseCommand(words, script.New()))
		})
	}
}

func TestParseCommand_Digest_KnownOnceTheTextWasSeen(t *testing.T) {
	for _, teach := range [][]string{{"SCRIPT", "load", setSecondKey},
		{"EVAL", setSecondKey, "2", "other", "k2", "1", "2", "b"}} {
		scripts := script.New()
		digest := strings.ToUpper(redis.NewScript(setSecondKey).Hash())
		call := []string{"evalsha", digest, "2", "other", "k1", "900", "22", "a"}
		requireMeans(t, "EVALSHA", "key other, token 900, unknown true, others [k1]", parseCommand(call, scripts))
		parseCommand(teach, scripts)
		requireMeans(t, "EVALSHA", "key k1, token a, expiry 900ms, effect set, others [other]", parseCommand(call, scripts))
	}
}

func TestCommandEvent_ScriptTakesAndExtends_SaysSo(t *testing.T) {
	const take = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 900) or redis.call('GET', KEYS[1]) == ARGV[1] "
	for body, extends := range map[string]bool{
		take + "then return 1 end return 0":                                         false,
		take + "and redis.call('PEXPIRE', KEYS[1], 900) then return 1 end return 0": true,
	} {
		c := parseCommand([]string{"EVAL", body, "1", "k1", "a"}, script.New())
		require.Equal(t, extends, c.event(1, time.Time{}).Extends, body)
	}
}

func TestCommandIntent_SetOnOwnKey_Extends(t *testing.T) {
	none := func(string, string) bool { return false }
	mine := func(_, token string) bool { return token == "a" }
	for _, c := range []struct {
		command     string
		first, then string
	}{
		{"SET k a NX PX 5", history.Take, history.Take},
		{"SET k a PX 5", history.Take, history.Extend},
		{"SET k a XX PX 5", history.Extend, history.Extend},
		{"SET k b PX 5", history.Take, history.Take},
		{"PEXPIRE k 5", history.Extend, history.Extend},
		{"DEL k", history.Release, history.Release},
		{"GET k", "", ""},
		{"PING", "", ""},
	} {
		got := parseCommand(strings.Fields(c.command), script.New())
		require.Equal(t, []string{c.first, c.then}, []string{got.intent(none), got.intent(mine)}, c.command)
	}
}

func TestCommandDone_Replies(t *testing.T) {
	for _, c := range []struct {
		command, reply string
		want           bool
	}{
		{"SET k a NX", "+OK\r\n", true},
		{"SET k a NX", "$-1\r\n", false},
		{"SET k a NX", "-OOM\r\n", false},
		{"SET k a NX GET", "$-1\r\n", true},
		{"SET k a NX GET", "_\r\n", true},
		{"SET k a NX GET", "$1\r\na\r\n", true}, // an earlier transmission of this command
		{"SET k a NX GET", "$1\r\nb\r\n", false},
		{"SET k a GET", "$1\r\nb\r\n", true}, // without NX the old value does not matter
		{"SETNX k a", ":1\r\n", true},
		{"SETNX k a", ":0\r\n", false},
		{"DEL k", ":1\r\n", true},
		{"DEL k", ":0\r\n", false},
		{"DEL k", ":-1\r\n", false},
		{"PEXPIRE k 5", ":0\r\n", false},
		{"GET k", "$1\r\na\r\n", true},
		{"GET k", "$-1\r\n", false},
		{"GETDEL k", "$-1\r\n", false},
		{"GETDEL k", "$1\r\na\r\n", true},
		{"GETEX k PX 5", "$1\r\na\r\n", true},
		{"GETEX k PX 5", "$-1\r\n", false},
		{"SET k a XX GET", "$1\r\na\r\n", true},
		{"SET k a XX GET", "$-1\r\n", false},
		{"SET k a GET", "$-1\r\n", true},
	} {
		got := parseCommand(strings.Fields(c.command), script.New()).done(reply(t, c.reply))
		require.Equal(t, c.want, got, "%s answered %q", c.command, c.reply)
	}
}

func TestParseStoreCommand_FindsMeaning(t *testing.T) {
	for text, want := range map[string]string{
		"GET value:k1":                            "key value:k1, effect read",
		"set value:k1 v1":                         "key value:k1, token v1, effect set",
		"EVAL text 2 value:k1 fence:k1 7":         "key value:k1, effect read, fence 7",
		"EVALSHA digest 2 value:k1 fence:k1 7 v1": "key value:k1, token v1, effect set, nx true, fence 7",
		"EVAL text 1 value:k1 v0 v1":              "key value:k1, token v1, effect set, nx true, base v0",
		// Not a register's key.
		"GET fence:k1":            "",
		"PING":                    "",
		"EVAL":                    "",
		"EVAL text 0":             "",
		"EVAL text 9 value:k1":    "",
		"EVAL text many value:k1": "",
	} {
		if got := parseStoreCommand(strings.Fields(text)); want != "" {
			requireMeans(t, text, want, got)
		} else {
			require.Empty(t, got.Effect, text)
		}
	}
}

func TestLink_ToStore_RecordsRegisterCommands(t *testing.T) {
	m := miniredis.RunT(t)
	var events []history.Event
	l := New(Config{Client: "c1", Node: history.StoreName, Now: func() int64 { return 0 },
		Record: func(e history.Event) { events = append(events, e) }})
	c := clustertest.Client(&redis.Options{Addr: overTCP(t, l, m.Addr())})
	require.NoError(t, c.Incr(context.Background(), "fence:k1").Err())
	require.NoError(t, c.Set(context.Background(), "value:k1", "v1", 0).Err())
	require.NoError(t, c.Get(context.Background(), "value:k1").Err())
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
	require.Len(t, events, 4)
	require.Equal(t, "c1>store", events[0].Process)
	require.Equal(t, "v1", events[0].Command.Token)
	require.True(t, events[0].Command.Unconditional)
	require.Equal(t, "OK", events[1].Command.Reply)
	require.True(t, events[1].Command.Done)
	require.Equal(t, history.EffectRead, events[2].Command.Effect)
	require.Equal(t, "v1", events[3].Command.Reply)
}
