package script

import (
	"bufio"
	"bytes"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Console gives commands to a server in memory without a connection. They go the way
// that those of Lua go: through miniredis's dispatcher, and its hook.
type Console struct {
	server *miniredis.Miniredis
	peer   *server.Peer
	reply  bytes.Buffer
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
