package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
)

// typed are commands on keys of every type. H, L, S, Z and K are mostly a hash, a list, a set, a sorted set and a
// string, and rarely another type; A is any type. Y is always a sorted set with one score and G always a string, as
// miniredis answers some commands on others differently. f is a field or member, n a small number, x a score, px a TTL.
const typed = `
	HSET H f n; HSET H f n f f; HSET H f; HSETNX H f n; HMSET H f n f n; HGET H f; HMGET H f f; HGETALL H; HDEL H f
	HDEL H f f; HEXISTS H f; HINCRBY H f n; HINCRBY H f x; HINCRBYFLOAT H f 0.5; HKEYS H; HVALS H; HLEN H
	HSTRLEN H f; HSCAN H 0; HRANDFIELD H 99
	LPUSH L f; LPUSH L f f; RPUSH L f; RPUSH L f f; LPUSHX L f; RPUSHX L f; LPOP L; RPOP L; LPOP L 2; RPOP L 0
	LLEN L; LRANGE L 0 -1; LRANGE L n n; LINDEX L n; LSET L n f; LREM L n f; LTRIM L n n; LINSERT L BEFORE f f
	LINSERT L AFTER f f; LPOS L f; LPOS L f RANK -1; LMPOP 2 L L LEFT; LMOVE l1 l2 LEFT RIGHT; RPOPLPUSH l2 l1
	SADD S f; SADD S f f; SREM S f; SREM S f f; SCARD S; SISMEMBER S f; SMISMEMBER S f f; SMEMBERS S; SMOVE S S f
	SPOP S 99; SRANDMEMBER S 99; SINTERCARD 2 S S; SSCAN S 0
	ZADD Z x f; ZADD Z x f x f; ZADD Z NX x f; ZADD Z XX CH x f; ZADD Z GT CH x f; ZADD Z LT x f; ZADD Z INCR x f
	ZADD Z NX GT x f; ZADD Z f f; ZADD Z 1.5 f; ZADD Z 1764340000123 f
	ZCARD Z; ZCOUNT Z x x; ZCOUNT Z -inf (x; ZINCRBY Z x f; ZRANGE Z 0 -1 WITHSCORES; ZRANGE Z n n REV
	ZRANGE Z x x BYSCORE LIMIT 0 1; ZRANGEBYSCORE Z (x +inf WITHSCORES; ZREVRANGEBYSCORE Z x -inf; ZREVRANGE Z n n
	ZRANK Z f; ZREVRANK Z f; ZREM Z f; ZREM Z f f; ZREMRANGEBYSCORE Z -inf x; ZREMRANGEBYSCORE Z -inf (x
	ZREMRANGEBYRANK Z n n; ZADD Y 0 f; ZADD Y 0 f; ZREMRANGEBYLEX Y - [f; ZLEXCOUNT Y - [f; ZRANGEBYLEX Y - [f
	ZREVRANGEBYLEX Y [f -
	ZSCORE Z f; ZMSCORE Z f f; ZPOPMIN Z; ZPOPMAX Z 2; ZMPOP 1 Z MIN; ZRANDMEMBER Z 99; ZSCAN Z 0

	SETBIT K n 1; SETBIT K n 0; GETBIT K n; BITCOUNT K; BITPOS K 1
	SET K f; SET K f NX PX px; SET K f XX GET; SET A f; SETNX A f; PSETEX K px f; GET K; GETSET K f
	GETDEL K; SET G f; GETEX G PX px; GETEX G PERSIST; APPEND K f; STRLEN K; GETRANGE K 0 2; SETRANGE K n f; MGET K A
	MSET K f A f; MSETNX K f A f; INCR K; INCRBY K n; INCRBYFLOAT K 0.5; DECR K; DECRBY K n
	PEXPIRE A px; PEXPIRE A px NX; PEXPIRE A px XX; PEXPIRE A px LT; PEXPIRE A -1; PERSIST A; PTTL A
	EXPIRE A -1; EXPIREAT A 1; PEXPIREAT A 1; SETEX K 0 f
	DEL A; UNLINK A A; EXISTS A A; TYPE A; TOUCH A; RENAME A A; RENAMENX A A; KEYS *; SCAN 0 COUNT 99
	FLUSHALL; FLUSHDB; TYPE K; WATCH A; UNWATCH; DISCARD; EXEC`

// Typical locks: a reentrant one in a hash, a semaphore in a sorted set, and a pool of tokens in a list.
var typedScripts = []string{`
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
	redis.call('hincrby', KEYS[1], ARGV[2], 1)
	redis.call('pexpire', KEYS[1], ARGV[1])
	return nil
end
return redis.call('hlen', KEYS[1])`, `
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if left > 0 then return left end
return redis.call('del', KEYS[1])`, `
redis.call('zremrangebyscore', KEYS[1], '-inf', 3)
if redis.call('zcard', KEYS[1]) < 2 then return redis.call('zadd', KEYS[1], 5, ARGV[2]) end
return redis.call('zscore', KEYS[1], ARGV[2])`, `
local t = redis.call('rpop', KEYS[1])
if t then redis.call('sadd', KEYS[1], ARGV[2]) end
return t`, `return redis.pcall('scard', KEYS[1])`}

// plain are commands on strings. more is a TTL that differs from each px: with equal ones the result depends on less
// than a millisecond.
const plain = `
	SET key token NX PX px; SET key token NX PX px; SET key token NX GET PX px; SET key token PX px
	SET key token XX KEEPTTL; SET key n; GET key; PTTL key; EXISTS key a; TYPE key; GETDEL key; SETNX key token; DEL key
	EVAL delete 1 key token; EVAL expire 1 key token px; EVALSHA #delete 1 key token; EVALSHA #expire 1 key token px
	INCR key; INCR counter; PEXPIRE key px; PEXPIRE key more GT; PEXPIRE key -1; PERSIST key; RENAME a b
	MSET a token b token; KEYS *; FLUSHALL`

// writes are writing commands on keys of every type, with a distant expiry if any.
const writes = `
	SET key token NX PX long; SET key token PX long; SET key n; SET key token XX KEEPTTL; EVAL delete 1 key token
	EVAL expire 1 key token long; DEL key; INCR counter; PEXPIRE key long; PERSIST key; RENAME a b; MSET a token b token
	HSET h1 token n; HINCRBY h1 token -1; HDEL h1 token; PEXPIRE h1 long; RPUSH l1 token token; LPOP l1; LREM l1 0 token
	PEXPIRE l1 long; SADD s1 token; SREM s1 token; PEXPIRE s1 long; SPOP s1 9; RENAME s1 s2; ZADD z1 n token
	ZREM z1 token; ZREMRANGEBYSCORE z1 0 4; SET z1 token; FLUSHALL`

const (
	compareAndDelete = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`
	compareAndExpire = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) ` +
		`else return 0 end`
)

func write(r *rand.Rand) []any { return draw(r, writes) }

func templates(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' })
}

// typedKeys are the keys of each type.
var typedKeys = map[string][]string{"H": {"h1", "h2"}, "L": {"l1", "l2"}, "S": {"s1", "s2"}, "Z": {"z1", "z2"},
	"K": {"k1", "fence:k2"}, "Y": {"y"}, "G": {"g"},
	"A": {"h1", "h2", "l1", "l2", "s1", "s2", "z1", "z2", "k1", "fence:k2"}}

// keys are those of strings.
var keys = []string{"a", "b", "fence:a", "counter"}

// typedCommand draws a command on keys of every type, or a script.
func typedCommand(r *rand.Rand) []any {
	chosen := pick(r, typed)
	if strings.HasPrefix(chosen[0], "FLUSH") && r.IntN(8) > 0 {
		chosen = []string{"KEYS", "*"}
	}
	if r.IntN(8) == 0 {
		script := typedScripts[r.IntN(len(typedScripts))]
		return []any{"EVAL", script, 1, fill(r, string("HHZL"[r.IntN(4)])), fill(r, "px"), fill(r, "f")}
	}
	return filled(r, chosen)
}

// draw draws one of the templates.
func draw(r *rand.Rand, text string) []any { return filled(r, pick(r, text)) }

func pick(r *rand.Rand, text string) []string {
	all := templates(text)
	return strings.Fields(all[r.IntN(len(all))])
}

func filled(r *rand.Rand, template []string) (command []any) {
	for _, word := range template {
		command = append(command, fill(r, word))
	}
	return command
}

// fill replaces a placeholder by a random word.
func fill(r *rand.Rand, word string) any {
	if of := typedKeys[word]; of != nil {
		if len(of) > 1 && r.IntN(20) == 0 {
			of = typedKeys["A"]
		}
		return of[r.IntN(len(of))]
	}
	for _, before := range []string{"(", "["} {
		if rest, found := strings.CutPrefix(word, before); found {
			return before + fmt.Sprint(fill(r, rest))
		}
	}
	switch word {
	case "f":
		return []string{"a", "b", "c:1", "7"}[r.IntN(4)]
	case "n":
		return r.IntN(7) - 2
	case "x":
		return r.IntN(9) - 1
	case "px":
		return shortLife(r)
	case "more":
		return shortLife(r) + 1 + r.Int64N(10)
	case "long":
		return ((time.Duration(r.IntN(3)) * longTime) + longTime/2).Milliseconds()
	case "key":
		return keys[r.IntN(len(keys))]
	case "token":
		return fmt.Sprint("token", r.IntN(3))
	case "delete":
		return compareAndDelete
	case "expire":
		return compareAndExpire
	case "#delete":
		return redis.NewScript(compareAndDelete).Hash()
	case "#expire":
		return redis.NewScript(compareAndExpire).Hash()
	}
	return word
}

// shortLife draws a TTL: half of them end soon, and half after an outage.
func shortLife(r *rand.Rand) int64 {
	ttl := time.Duration(r.IntN(4))*beat + beat/2
	if r.IntN(2) == 0 {
		ttl += outage + 5*beat
	}
	return ttl.Milliseconds()
}

// kindOfError reduces an error to WRONGTYPE or another one, as many of miniredis's texts differ.
func kindOfError(cmd *redis.Cmd, unit time.Duration) string {
	err := cmd.Err()
	switch {
	case err == nil, err == redis.Nil:
		return coarse(cmd, unit)
	case strings.Contains(err.Error(), "WRONGTYPE"):
		return "WRONGTYPE"
	}
	return "error"
}

// TTL answers with the nearest second, alone and in a script.
func TestSecondsAreRounded_AsRedis(t *testing.T) {
	answers := func(rdb *redis.Client) (all []string) {
		for _, ms := range []int{200, 900, 1200, 1900, 5_000_900} {
			for _, c := range [][]any{{"SET", "k", "v", "PX", ms}, {"TTL", "k"},
				{"EVAL", "return redis.call('ttl', KEYS[1])", 1, "k"}} {
				all = append(all, fmt.Sprint(rdb.Do(ctx, c...).Result()))
			}
		}
		for _, c := range []string{"PERSIST k", "TTL k", "DEL k", "TTL k", "TTL", "EXPIRETIME k", "SET k v", "EXPIRETIME k",
			"PEXPIREAT k 9999999999499", "EXPIRETIME k", "PEXPIREAT k 9999999999500", "EXPIRETIME k"} {
			all = append(all, fmt.Sprint(rdb.Do(ctx, words(c)...).Result()))
		}
		return all
	}
	want := answers(realRedis(t))
	with(t, 1, nil, func(b clustertest.Bench) { require.Equal(t, want, answers(b.Over("c1", "n1"))) })
}

// WAIT waits for a write without a change if Redis replicates it.
func TestWritesOfTheSameValueAreReplicated_AsRedis(t *testing.T) {
	needsRedis(t)
	for i, c := range []string{"SET k1 v", "HSET h1 f v", "HMSET h1 f v", "SADD s1 f", "ZADD z1 1 f", "HSETNX h1 f v",
		"LSET l1 0 f", "GETSET k1 v"} {
		t.Run(c, func(t *testing.T) {
			t.Parallel()
			compared(t, withReplica(keeps(cluster.Persistences[i%2])), "", []step{say("n1", words("RPUSH l1 f"), words(c)),
				settle, cut, say("n1", words(c), words("WAIT 1 100"), words("GETSET k1 v"))})
		})
	}
}

// The exceptions neither change nor read keys, or have tests of their own.
func TestEveryAnsweredCommandIsCompared(t *testing.T) {
	names, err := realRedis(t).CommandList(ctx, nil).Result()
	require.NoError(t, err)
	drawn := map[string]bool{}
	for _, template := range templates(typed) {
		drawn[strings.Fields(template)[0]] = true
	}
	elsewhere := cluster.Commands(`EXPIRETIME PEXPIRETIME TTL DBSIZE AUTH HELLO PING ECHO QUIT SELECT CLIENT
		COMMAND INFO TIME WAIT SCRIPT PUBLISH SUBSCRIBE UNSUBSCRIBE MULTI EVAL EVALSHA EVAL_RO EVALSHA_RO`)
	with(t, 1, nil, func(b clustertest.Bench) {
		var missing []string
		for _, name := range names {
			upper := strings.ToUpper(name)
			if upper == "MONITOR" || upper == "QUIT" || elsewhere[upper] || drawn[upper] {
				continue
			}
			err := b.Over("c1", "n1").Do(ctx, name).Err()
			if err == nil || !strings.Contains(err.Error(), "not modelled by the virtual cluster") &&
				!strings.Contains(err.Error(), "does not model") {
				missing = append(missing, upper)
			}
		}
		slices.Sort(missing)
		require.Empty(t, missing)
	})
}

func TestChangesNoKey_MatchesRedisFlags(t *testing.T) {
	all, err := realRedis(t).Command(ctx).Result()
	require.NoError(t, err)
	for name, c := range all {
		reads, writes := slices.Contains(c.Flags, "readonly"), slices.Contains(c.Flags, "write")
		if reads || writes {
			require.Equal(t, reads, cluster.ChangesNoKey(strings.ToUpper(name)), name)
		}
	}
}
