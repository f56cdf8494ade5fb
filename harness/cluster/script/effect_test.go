package script

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

const (
	compareAndDelete = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`
	compareAndExpire = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) ` +
		`end return 0`
	// bsm/redislock v0.10.0, obtain.lua. Its arguments are the value, the length of the token in it, and the expiry.
	obtain = `
local function canOverrideKeys()
	local offset = tonumber(ARGV[2])
	for _, key in ipairs(KEYS) do
		if redis.call("getrange", key, 0, offset-1) ~= string.sub(ARGV[1], 1, offset) then return false end
	end
	return true
end
local setArgs = {}
for _, key in ipairs(KEYS) do
	table.insert(setArgs, key)
	table.insert(setArgs, ARGV[1])
end
if redis.call("msetnx", unpack(setArgs)) ~= 1 then
	if canOverrideKeys() == false then return false end
	redis.call("mset", unpack(setArgs))
end
for _, key in ipairs(KEYS) do redis.call("pexpire", key, ARGV[3]) end
return redis.status_reply("OK")`
	// A reentrant lock in a hash, like Redisson's: nil means yes, the remaining expiry means no.
	tryLock = `
if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then
	redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
return redis.call('pttl', KEYS[1])`
	// Go-redsync's extension with WithSetNXOnExtend.
	touchOrSet = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2])
elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1
else return 0 end`
)

func TestScriptsOf_FindsTheEffect(t *testing.T) {
	for _, c := range []struct {
		name, body string
		args       []string
		want       Effect
	}{
		{"compares and deletes", compareAndDelete, []string{"a"}, Effect{Key: "k", Removes: true, Token: "a"}},
		{"compares and extends", compareAndExpire, []string{"a", "900"}, Effect{Key: "k", Extends: true, Token: "a",
			Expiry: 900 * time.Millisecond}},
		{"takes by MSETNX", obtain, []string{"abcdef", "6", "1500"},
			Effect{Key: "k", Takes: true, Extends: true, Token: "abcdef", Expiry: 1500 * time.Millisecond}},
		{"takes a hash", tryLock, []string{"3000", "me:1"}, Effect{Key: "k", Takes: true, Extends: true, Token: "me:1",
			Expiry: 3 * time.Second}},
		{"extends or takes", touchOrSet, []string{"a", "500"},
			Effect{Key: "k", Takes: true, Extends: true, Token: "a", Expiry: 500 * time.Millisecond}},
		{"the token is not the first", `return redis.call('SET', KEYS[1], ARGV[2], 'NX', 'EX', ARGV[1])`, []string{"2", "a"},
			Effect{Key: "k", Takes: true, Token: "a", Expiry: 2 * time.Second}},
		{"takes from anybody", `return redis.call('SET', KEYS[1], ARGV[1], 'PX', 70)`, []string{"a"},
			Effect{Key: "k", Takes: true, Extends: true, Plain: true, Token: "a", Expiry: 70 * time.Millisecond}},
		{"never expires", `return redis.call('SETNX', KEYS[1], ARGV[1])`, []string{"a"},
			Effect{Key: "k", Takes: true, Token: "a"}},
		{"deletes what is anybody's", `return redis.call('DEL', KEYS[1])`, []string{"a"},
			Effect{Key: "k", Removes: true, Plain: true}},
		{"deletes without a word", `return redis.call('DEL', KEYS[1])`, nil, Effect{Key: "k", Removes: true, Plain: true}},
		{"leaves a hash", `if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then return redis.call('del', KEYS[1]) end ` +
			`return nil`,
			[]string{"me:1"}, Effect{Key: "k", Removes: true, Token: "me:1"}},
		{"empties its own key", `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('SET', KEYS[1], '') end ` +
			`return 0`,
			[]string{"a"}, Effect{}},
		{"gives its own key another token", `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('SET', ` +
			`KEYS[1], ARGV[2]) end return 0`,
			[]string{"a", "b"}, Effect{}},
		{"holds by an empty value", `return redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1])`, []string{"900"},
			Effect{Key: "k", Takes: true, Expiry: 900 * time.Millisecond}},
		{"extends what is empty", `return redis.call('SET', KEYS[1], '', 'XX', 'PX', ARGV[1])`, []string{"900"}, Effect{}},
		{"extends its own hash, and adds a field", `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('hset', KEYS[1], 'renewed', 1)
return redis.call('pexpire', KEYS[1], 500)`,
			[]string{"me:1"}, Effect{Key: "k", Extends: true, Token: "me:1", Expiry: 500 * time.Millisecond}},
		{"only looks", `return redis.call('GET', KEYS[1])`, []string{"a"}, Effect{}},
		{"names DEL and does not do it", `local s = "redis.call('DEL', KEYS[1])" return 0`, []string{"a"}, Effect{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := New().Of(c.body, []string{"k"}, c.args)
			require.True(t, ok)
			got.yes, got.no, got.idle, got.names, got.stored = reply{}, reply{}, "", false, 0
			require.Equal(t, c.want, got)
		})
	}
}

// takeOver acquires a key whose value, a deadline, has passed.
const takeOver = `local v = redis.call('GET', KEYS[1])
if not v or v + 0 < 7 then redis.call('SET', KEYS[1], ARGV[1] + 7) return 1 end
return 0`

const (
	// The remaining expiry is the refusal, and an integer too.
	tryLockElseTTL = `
if redis.call('exists', KEYS[1]) == 0 then
	redis.call('hset', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return -1
end
return redis.call('pttl', KEYS[1])`
	// A lock with fencing tokens.
	takeAndCount = `
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('set', KEYS[1], ARGV[1])
return redis.call('incr', KEYS[2])`
	reenter = `
if redis.call('exists', KEYS[1]) == 1 and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('pexpire', KEYS[1], 900)
local count = redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], 900)
return count`
	// Go-redsync's release.
	deleteElseWhy = `
local val = redis.call("GET", KEYS[1])
if val == ARGV[1] then return redis.call("DEL", KEYS[1]) elseif val == false then return -1 else return 0 end`
	takeElseWhy = `
local val = redis.call("GET", KEYS[1])
if not val then redis.call("SET", KEYS[1], ARGV[1]) return 1 elseif val == ARGV[1] then return 2 else return 0 end`
	takeOrName = `
if redis.call('set', KEYS[1], ARGV[1], 'NX') then return ARGV[1] end
return redis.call('get', KEYS[1])`
)

func TestEffectDone_Replies(t *testing.T) {
	for _, c := range []struct {
		name, body  string
		args        []string
		answer      string
		done, known bool
	}{
		{"1", compareAndDelete, []string{"a"}, ":1\r\n", true, true},
		{"0", compareAndDelete, []string{"a"}, ":0\r\n", false, true},
		{"OK", obtain, []string{"abc", "3", "900"}, "+OK\r\n", true, true},
		{"nil is no", obtain, []string{"abc", "3", "900"}, "$-1\r\n", false, true},
		{"nil is yes", tryLock, []string{"900", "me"}, "$-1\r\n", true, true},
		{"nil of RESP3", tryLock, []string{"900", "me"}, "_\r\n", true, true},
		{"what is left is no", tryLock, []string{"900", "me"}, ":412\r\n", false, true},
		{"neither", compareAndDelete, []string{"a"}, ":2\r\n", false, false},
		{"0, as on its own key", takeOver, []string{"5"}, ":0\r\n", false, true},
		{"2, if it fails on a value that it cannot read", takeOver, []string{"5"}, ":2\r\n", false, false},
		{"1, if it fails on a value that it cannot read", takeOver, []string{"5"}, ":1\r\n", true, true},
		{"it always says the same", `redis.call('DEL', KEYS[1]) return 1`, []string{"a"}, ":1\r\n", false, false},
		{"-1 is yes, what is left is no", tryLockElseTTL, []string{"900", "me"}, ":412\r\n", false, true},
		{"-1 is yes", tryLockElseTTL, []string{"900", "me"}, ":-1\r\n", true, true},
		{"the next of a counter is yes", takeAndCount, []string{"me"}, ":3\r\n", true, true},
		{"0 is no, a counter is yes", takeAndCount, []string{"me"}, ":0\r\n", false, true},
		{"a count of its own is yes", reenter, []string{"me"}, ":3\r\n", true, true},
		{"-1 is no: the key is absent", deleteElseWhy, []string{"a"}, ":-1\r\n", false, true},
		{"0 is no: the key is another's", deleteElseWhy, []string{"a"}, ":0\r\n", false, true},
		{"2 is no: the key is the caller's own", takeElseWhy, []string{"a"}, ":2\r\n", false, true},
		{"the holder's token is no", takeOrName, []string{"me"}, "$5\r\nthem7\r\n", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, ok := New().Of(c.body, []string{"k", "counter"}, c.args)
			require.True(t, ok)
			done, known := d.Done(c.answer)
			require.Equal(t, []bool{c.done, c.known}, []bool{done, known})
		})
	}
}

func TestEffectDone_ReplyIsTheToken_ComparesEachCallsOwn(t *testing.T) {
	r := New()
	for _, token := range []string{"a", "b"} {
		e, ok := r.Of(takeOrName, []string{"k"}, []string{token})
		require.True(t, ok)
		for holder, mine := range map[string]bool{token: true, "c": false} {
			done, known := e.Done(bulk(holder))
			require.Equal(t, []bool{mine, true}, []bool{done, known}, "%s: %s", token, holder)
		}
	}
}

// Another expiry is another effect.
func TestScriptsOf_OnlyTheTokenDiffers_UsesTheCache(t *testing.T) {
	r := New()
	for _, token := range []string{"a", "b", "c"} {
		d, ok := r.Of(compareAndExpire, []string{"k"}, []string{token, "900"})
		require.True(t, ok)
		require.Equal(t, token, d.Token)
		require.Equal(t, 900*time.Millisecond, d.Expiry)
	}
	require.Len(t, r.effects, 1)
	d, _ := r.Of(compareAndExpire, []string{"k"}, []string{"a", "800"})
	require.Equal(t, 800*time.Millisecond, d.Expiry)
}

func TestScriptsOf_ScriptCannotRun_Unknown(t *testing.T) {
	for name, body := range map[string]string{
		"it is no Lua":             "if then",
		"it may never end":         "while true do end",
		"it waits for the clock":   "for i = 1, 1e9 do redis.call('TIME') end",
		"an unknown command":       "return redis.call('FROB', KEYS[1])",
		"it wants other arguments": "return ARGV[7] .. 'x'",
	} {
		t.Run(name, func(t *testing.T) {
			r := New()
			_, ok := r.Of(body, []string{"k"}, []string{"a"})
			require.False(t, ok)
			d, ok := r.Of(compareAndDelete, []string{"k"}, []string{"a"})
			require.True(t, ok, "the next is not the worse for it")
			require.Equal(t, history.EffectDelete, d.Kind())
		})
	}
	_, ok := New().Of(compareAndDelete, nil, []string{"a"})
	require.False(t, ok, "it has no key")
}

func TestScriptsOf_InABubble_LeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ok := New().Of(`local now = redis.call('TIME')[1] * 1000 return redis.call('SET', KEYS[1], ARGV[1], 'PXAT', now `+
			`+ 5000, 'NX')`,
			[]string{"k"}, []string{"a"})
		require.True(t, ok)
		require.Equal(t, 5*time.Second, d.Expiry, "by the bubble's clock")
	})
}

func TestScriptsOf_ArgumentsDoNotRepeat_CacheIsBounded(t *testing.T) {
	r := New()
	for i := range maxEffects + 5 {
		_, ok := r.Of(compareAndDelete, []string{strings.Repeat("k", i+1)}, []string{"a"})
		require.True(t, ok)
	}
	require.Less(t, len(r.effects), 10)
}
