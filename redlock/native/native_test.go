package native_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/redlock"
	"example.org/lockproof/redlock/native"
	"example.org/lockproof/redlock/rig"
)

var decorated = rig.Decorated(native.Commands)

// fakeProduct is a server of some product: it reports that product's version, and knows its commands or refuses them,
// as an older version or missing permissions would. It counts commands.
type fakeProduct struct {
	*rig.Server
	info    string
	knows   map[string]bool
	refusal string
	asked   map[string]*atomic.Int32
}

func newFakeProduct(m *rig.Server, info string, knows ...string) *fakeProduct {
	s := &fakeProduct{Server: m, info: info, knows: map[string]bool{}, refusal: "ERR unknown command '%s', with args " +
		"beginning with: ",
		asked: map[string]*atomic.Int32{}}
	for _, command := range []string{"DELEX", "DELIFEQ", "IFEQ", "EVALSHA"} {
		s.asked[command] = &atomic.Int32{}
	}
	for _, command := range knows {
		s.knows[command] = true
	}
	m.Miniredis.Server().SetPreHook(func(p *server.Peer, cmd string, args ...string) bool {
		return s.answer(p, cmd, args)
	})
	return s
}

func (s *fakeProduct) answer(p *server.Peer, cmd string, args []string) bool {
	if cmd == "SET" && len(args) > 2 && strings.EqualFold(args[2], "ifeq") {
		cmd = "IFEQ"
	}
	if n := s.asked[cmd]; n != nil {
		n.Add(1)
	}
	switch {
	case cmd == "INFO":
		p.WriteBulk("# Server\r\n" + s.info)
	case s.asked[cmd] == nil || cmd == "EVALSHA":
		return false
	case !s.knows[cmd] && cmd == "IFEQ":
		p.WriteError("ERR syntax error")
	case !s.knows[cmd]:
		p.WriteError(fmt.Sprintf(s.refusal, cmd))
	case cmd == "IFEQ":
		if held, _ := s.Get(args[0]); held != args[3] {
			p.WriteNull()
			return true
		}
		ms, _ := strconv.Atoi(args[5])
		s.SetTTL(args[0], time.Duration(ms)*time.Millisecond)
		p.WriteOK()
	default: // DELEX key IFEQ token, DELIFEQ key token
		if held, _ := s.Get(args[0]); held != args[len(args)-1] {
			p.WriteInt(0)
			return true
		}
		s.Del(args[0])
		p.WriteInt(1)
	}
	return true
}

const (
	redis86Info  = "redis_version:8.6.1\r\nrun_id:%d\r\n"
	valkey91Info = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.0\r\nrun_id:%d\r\n"
	redis70Info  = "redis_version:7.0.15\r\nrun_id:%d\r\n"
	valkey81Info = "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nrun_id:%d\r\n"
)

// A command that the server does not know or permit costs one exchange, once.
func TestCommands_DialectFollowsTheServer(t *testing.T) {
	type row struct {
		info    string
		knows   []string
		refusal string
		want    string // DELEX, DELIFEQ, SET IFEQ, EVALSHA, of two releases and two extensions
	}
	rig.Cases(t, 1, map[string]row{
		"Redis 8.6":                      {redis86Info, []string{"DELEX", "IFEQ"}, "", "2 0 2 0"},
		"Valkey 9.1":                     {valkey91Info, []string{"DELIFEQ", "IFEQ"}, "", "0 2 2 0"},
		"Redis 7.0":                      {redis70Info, nil, "", "0 0 0 4"},
		"Valkey 8.1, with SET IFEQ only": {valkey81Info, []string{"IFEQ"}, "", "0 0 0 4"},
		"another product, that calls itself Redis 8.6": {redis86Info, nil, "", "0 0 1 4"},
		"a user without the right": {valkey91Info, []string{"IFEQ"}, "NOPERM User app has no permissions to run the '%s' " +
			"command", "0 1 1 3"},
		"an unreadable version": {"redis_version:new\r\nrun_id:%d\r\n", nil, "", "0 0 0 4"},
	}, func(t *testing.T, cl *rig.Cluster, c row) {
		s := newFakeProduct(cl.Servers[0], fmt.Sprintf(c.info, 1), c.knows...)
		if c.refusal != "" {
			s.refusal = c.refusal
		}
		u := cl.User(1, decorated)
		for range 2 {
			l := u.Must(t)
			time.Sleep(rig.TTL / 2)
			require.NoError(t, l.Extend(t.Context()))
			require.Equal(t, rig.TTL, s.TTL(rig.Key))
			require.NoError(t, l.Release(t.Context()))
			require.False(t, s.Exists(rig.Key))
			synctest.Wait()
		}
		require.Equal(t, c.want, fmt.Sprint(s.asked["DELEX"].Load(), s.asked["DELIFEQ"].Load(), s.asked["IFEQ"].Load(),
			s.asked["EVALSHA"].Load()))
	})
}

func TestEveryDialect_KeyOfAnotherClient_StaysUnchanged(t *testing.T) {
	type row struct {
		info  string
		knows []string
	}
	rig.Cases(t, 3, map[string]row{
		"Redis 8.6":  {redis86Info, []string{"DELEX", "IFEQ"}},
		"Valkey 9.1": {valkey91Info, []string{"DELIFEQ", "IFEQ"}},
		"Redis 7.0":  {redis70Info, nil},
	}, func(t *testing.T, cl *rig.Cluster, c row) {
		for i, m := range cl.Servers {
			newFakeProduct(m, fmt.Sprintf(c.info, i), c.knows...)
		}
		u := cl.User(1, decorated)
		l := u.Must(t)
		cl.Occupy(1, 2)
		require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrLost)
		require.ErrorIs(t, l.Release(t.Context()), redlock.ErrLost)
		synctest.Wait()
		require.Equal(t, []string{"another", "another", ""}, cl.Owners())
		require.Equal(t, time.Minute, cl.Servers[0].TTL(rig.Key))
	})
}
