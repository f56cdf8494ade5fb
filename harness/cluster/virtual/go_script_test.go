package virtual

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/script"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// pair is two nodes with the same commands. One passes all scripts to Lua.
type pair struct {
	now       int64
	scheduler *scheduler.Scheduler
	inGo, lua *Node
	toGo      *conn
	toLua     *conn
}

func newPair(setting cluster.Persistence) *pair {
	p := &pair{}
	clock := func() int64 { return p.now }
	p.scheduler = scheduler.RealTime()
	p.inGo, p.lua = newNode("n1", 1, releases[0], setting, clock, p.scheduler, 0), newNode("n1", 1, releases[0], setting,
		clock, p.scheduler, 0)
	p.connect()
	return p
}

// connect makes new connections.
func (p *pair) connect() { p.toGo, p.toLua = p.inGo.newConn(nil), p.lua.newConn(nil) }

func (p *pair) end() {
	p.inGo.end()
	p.lua.end()
	p.scheduler.End()
}

// do sends both a command, and compares the replies and the keys.
func (p *pair) do(t require.TestingT, args ...string) string {
	p.now++
	got := string(p.inGo.execute(p.toGo, args))
	p.lua.advance()
	p.toLua.reply.Reset()
	p.lua.server.Server().Dispatch(p.toLua.peer, args)
	p.toLua.peer.Flush()
	p.lua.journal()
	require.Equal(t, p.toLua.reply.String(), got, "%q", args)
	p.alike(t)
	return got
}

func (p *pair) alike(t require.TestingT) {
	require.Equal(t, p.lua.disk, p.inGo.disk)
}

func TestGoScripts_NodeKnowsScript_RunInGo(t *testing.T) {
	for i, s := range goScripts {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			p := newPair(cluster.PersistEverysec)
			defer p.end()
			words := append([]string{strconv.Itoa(s.keys), "k", "l"}[:1+s.keys], []string{"7", "8"}[:s.args]...)
			inGo := func(name, text string) bool {
				return p.inGo.runGoScript(p.inGo.newConn(nil), append([]string{name, text}, words...))
			}
			require.False(t, inGo("EVALSHA", script.Digest(s.text)), "the node does not know it")
			require.True(t, inGo("EVAL", s.text))
			require.True(t, inGo("EVALSHA", script.Digest(s.text)))
		})
	}
}

func TestGoScripts_RandomCommands_EqualLua(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(rapid.SampledFrom(cluster.Persistences).Draw(t, "persistence"))
		defer p.end()
		key := rapid.SampledFrom([]string{"k", "l"})
		value := rapid.SampledFrom([]string{"a", "b", "", "7", "8", "a\r\nb", "900", "+8", "007", "1e1", "0x10", " 7", "-5",
			"9007199254740993", "99999999999999999999"})
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				s := rapid.SampledFrom(goScripts).Draw(t, "script")
				name, text := "EVAL", s.text
				if rapid.IntRange(0, 3).Draw(t, "by digest") > 0 {
					name, text = "EVALSHA", script.Digest(s.text)
				}
				args := []string{rapid.SampledFrom([]string{name, strings.ToLower(name), name + "_RO"}).Draw(t, "name"), text}
				if rapid.IntRange(0, 9).Draw(t, "misused") == 0 {
					args = append(args, rapid.SliceOfN(value, 0, 4).Draw(t, "words")...)
				} else {
					args = append(args, strconv.Itoa(s.keys))
					args = append(args, rapid.SliceOfN(key, s.keys, s.keys).Draw(t, "keys")...)
					args = append(args, rapid.SliceOfN(value, s.args, s.args).Draw(t, "arguments")...)
				}
				p.do(t, args...)
			},
			"load": func(t *rapid.T) {
				p.do(t, "SCRIPT", "LOAD", rapid.SampledFrom(goScripts).Draw(t, "script").text)
			},
			"exists": func(t *rapid.T) {
				p.do(t, "SCRIPT", "EXISTS", script.Digest(rapid.SampledFrom(goScripts).Draw(t, "script").text))
			},
			"set": func(t *rapid.T) { p.do(t, "SET", key.Draw(t, "key"), value.Draw(t, "value")) },
			"lend": func(t *rapid.T) {
				p.do(t, "SET", key.Draw(t, "key"), value.Draw(t, "value"), "PX",
					strconv.Itoa(rapid.IntRange(1, 1000).Draw(t, "ms")))
			},
			"other": func(t *rapid.T) {
				p.do(t, rapid.SampledFrom([][]string{{"SCRIPT", "FLUSH"}, {"HELLO", "3"}, {"HELLO", "2"}, {"MULTI"}, {"EXEC"},
					{"DISCARD"}, {"WATCH", "k"}, {"PTTL", "k"}, {"MGET", "k", "l"}}).Draw(t, "command")...)
			},
			"time":    func(t *rapid.T) { p.now += rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "later") },
			"connect": func(*rapid.T) { p.connect() },
			"restart": func(t *rapid.T) {
				for _, n := range []*Node{p.inGo, p.lua} {
					require.NoError(t, n.Kill(t.Context()))
					require.NoError(t, n.Start(t.Context()))
				}
				p.connect()
				p.alike(t)
			},
		})
	})
}
