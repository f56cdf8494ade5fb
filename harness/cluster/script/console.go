package script

import (
	"bufio"
	"bytes"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
)

// miniredis makes a Lua state for each EVAL, whose registry, of 80 KB unless set,
// was a quarter of all the memory that a busy run asked for. A script has room for
// a thousand values; one that needs more gets an error that says so.
func init() { lua.RegistrySize = 1024 }

// Console gives commands to a server in memory without a connection. They go the way
// that those of Lua go: through miniredis's dispatcher, and its hook.
type Console struct {
	server *miniredis.Miniredis
	peer   *server.Peer
	reply  bytes.Buffer
}

// NewServer makes a server in memory that nobody connects to. Its first connection is what makes it ready.
func NewServer() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	c, err := m.Dial()
	if err != nil {
		panic(fmt.Sprintf("miniredis cannot start in memory: %v", err)) // no code path of v2.40.0
	}
	c.Close()
	return m
}

// NewConsole makes one. The server has been started.
func NewConsole(m *miniredis.Miniredis) *Console {
	c := &Console{server: m}
	c.peer = server.NewPeer(bufio.NewWriterSize(&c.reply, 512))
	return c
}

// Eval gives a command, and returns the reply in RESP. It panics where miniredis does.
func (c *Console) Eval(args ...string) string {
	c.server.Server().Dispatch(c.peer, args)
	return c.said()
}

func (c *Console) said() string {
	defer c.reply.Reset()
	c.peer.Flush()
	return c.reply.String()
}
