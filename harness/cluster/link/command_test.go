package link

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/history"
	"lockproof/redlock"
)

// resp writes a command as a client does.
func resp(args ...string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.Bytes()
}

func TestWhatACommandMeans(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		command string
		want    command
	}{
		{"SET k1 a", command{Name: "SET", Key: "k1", Token: "a", Effect: history.EffectSet}},
		{"set k1 a nx px 1000", command{Name: "SET", Key: "k1", Token: "a", Expiry: second, Effect: history.EffectSet, nx: true}},
		{"SET k1 a PX 1000 NX", command{Name: "SET", Key: "k1", Token: "a", Expiry: second, Effect: history.EffectSet, nx: true}},
		{"SET k1 a EX 2 NX GET", command{Name: "SET", Key: "k1", Token: "a", Expiry: 2 * second,
			Effect: history.EffectSet, nx: true, get: true}},
		{"SET k1 a PX soon", command{Name: "SET", Key: "k1", Token: "a", Effect: history.EffectSet}},
		{"SET k1 a PX", command{Name: "SET", Key: "k1", Token: "a", Effect: history.EffectSet}},
		{"SET", command{Name: "SET"}},
		{"SETNX k1 a", command{Name: "SETNX", Key: "k1", Token: "a", Effect: history.EffectSet, nx: true}},
		{"PEXPIRE k1 1500", command{Name: "PEXPIRE", Key: "k1", Expiry: 1500 * time.Millisecond, Effect: history.EffectExtend}},
		{"EXPIRE k1 2", command{Name: "EXPIRE", Key: "k1", Expiry: 2 * second, Effect: history.EffectExtend}},
		{"DEL k1", command{Name: "DEL", Key: "k1", Effect: history.EffectDelete}},
		{"UNLINK k1", command{Name: "UNLINK", Key: "k1", Effect: history.EffectDelete}},
		{"DELEX k1 IFEQ a", command{Name: "DELEX", Key: "k1", Effect: history.EffectDelete}},
		{"DELIFEQ k1 a", command{Name: "DELIFEQ", Key: "k1", Effect: history.EffectDelete}},
		{"GET k1", command{Name: "GET", Key: "k1", Effect: history.EffectRead}},
		{"PING", command{Name: "PING"}},
		{"INFO server", command{Name: "INFO"}},
		// A fencing counter is no lock.
		{"SET fence:k1 7", command{Name: "SET", Key: "fence:k1", Token: "7"}},
		{"GET fence:k1", command{Name: "GET", Key: "fence:k1"}},
		{"EVAL redis.call('SET',KEYS[1],ARGV[1]) 1 fence:k1 7", command{Name: "EVAL", Key: "fence:k1", Token: "7"}},
		// A script with several keys is none that we know.
		{"EVAL redis.call('DEL',KEYS[1]) 2 k1 k2 a", command{Name: "EVAL"}},
		{"EVAL", command{Name: "EVAL"}},
	} {
		require.Equal(t, c.want, parseCommand(resp(strings.Fields(c.command)...), NewScripts()), c.command)
	}
	require.Equal(t, command{}, parseCommand([]byte("+OK\r\n"), NewScripts()), "a reply is no command")
	require.Equal(t, command{}, parseCommand([]byte("*0\r\n"), NewScripts()))
}

func TestWhatAScriptDoes(t *testing.T) {
	for script, want := range map[string]history.Effect{
		`return redis.call("get", KEYS[1])`:                                      history.EffectRead,
		`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', k) end`: history.EffectDelete,
		`redis.pcall("unlink", KEYS[1])`:                                         history.EffectDelete,
		`server.call("pexpire", KEYS[1], ARGV[2])`:                               history.EffectExtend,
		`redis.call( "set" , KEYS[1], ARGV[1]); redis.call("expire", KEYS[1])`:   history.EffectSet,
		`return 1`: "",
		`-- del`:   "",
	} {
		scripts := NewScripts()
		digest := scripts.learn(script)
		require.Equal(t, want, scripts.effectOf(digest), script)
		require.Equal(t, redis.NewScript(script).Hash(), digest, "the server's own name for it")
		// Another client names the script by its digest alone, in capitals or not.
		c := parseCommand(resp("evalsha", strings.ToUpper(digest), "1", "k1", "a", "500"), scripts)
		require.Equal(t, want, c.Effect)
		require.Equal(t, "EVALSHA", c.Name)
	}
	loaded := NewScripts()
	parseCommand(resp("SCRIPT", "load", "return redis.call('del', KEYS[1])"), loaded)
	digest := NewScripts().learn("return redis.call('del', KEYS[1])")
	require.Equal(t, history.EffectDelete, parseCommand(resp("EVALSHA", digest, "1", "k1", "a"), loaded).Effect,
		"SCRIPT LOAD shows a text as well")
	require.Empty(t, parseCommand(resp("EVALSHA", strings.Repeat("0", 40), "1", "k1"), NewScripts()).Effect, "one that nobody has seen")
}

func TestWhetherACommandWasDone(t *testing.T) {
	for _, c := range []struct {
		command, reply string
		want           bool
	}{
		{"SET k a NX", "+OK\r\n", true},
		{"SET k a NX", "$-1\r\n", false},
		{"SET k a NX", "-OOM\r\n", false},
		{"SET k a NX GET", "$-1\r\n", true},
		{"SET k a NX GET", "_\r\n", true},
		{"SET k a NX GET", "$1\r\na\r\n", true}, // an earlier sending of this very command
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
	} {
		got := parseCommand(resp(strings.Fields(c.command)...), NewScripts()).done(parseReply([]byte(c.reply)))
		require.Equal(t, c.want, got, "%s answered %q", c.command, c.reply)
	}
}

// effects are what a link has recorded of replies: the effect, whether it took
// place, and the time to live that it set.
func (r *rig) effects(token string) (all []string) {
	for _, e := range r.history() {
		if e.Type != history.TypeReply || e.Command.Token != token {
			continue
		}
		s := string(e.Command.Effect)
		if e.Command.Done {
			s += " done"
		}
		if e.Command.Expiry > 0 {
			s += " " + time.Duration(e.Command.Expiry).String()
		}
		all = append(all, s)
	}
	return all
}

// The scripts of the locks themselves, as they go over the wire.
func TestALinkUnderstandsTheReference(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		lock, err := redlock.New([]redis.UniversalClient{r.redis})
		require.NoError(t, err)
		lease, err := lock.Acquire(ctx, "k1", time.Second)
		require.NoError(t, err)
		require.NoError(t, lease.Extend(ctx))
		require.NoError(t, lease.Release(ctx))
		require.Equal(t, []string{"set done 1s", "extend done 1s", "delete done"}, dropRepeats(r.effects(lease.Token())))
		require.NoError(t, lock.Close())
	})
}

func TestALinkUnderstandsRedsync(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		m := redsync.New(goredis.NewPool(r.redis)).NewMutex("k1", redsync.WithExpiry(time.Second))
		require.NoError(t, m.LockContext(ctx))
		token := m.Value()
		extended, err := m.ExtendContext(ctx)
		require.NoError(t, err)
		require.True(t, extended)
		released, err := m.UnlockContext(ctx)
		require.NoError(t, err)
		require.True(t, released)
		require.Equal(t, []string{"set done 1s", "extend done 1s", "delete done"}, dropRepeats(r.effects(token)))
	})
}

// dropRepeats leaves out what was not done and sent again: an EVALSHA that the
// server did not know.
func dropRepeats(effects []string) (all []string) {
	for _, e := range effects {
		if strings.Contains(e, "done") {
			all = append(all, e)
		}
	}
	return all
}
