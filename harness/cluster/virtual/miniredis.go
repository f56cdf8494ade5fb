package virtual

import (
	"fmt"
	"sync"

	"github.com/alicebob/miniredis/v2"
	lua "github.com/yuin/gopher-lua"

	"example.org/lockproof/harness/cluster/script"
)

// miniredis makes a Lua state for each EVAL, whose registry, of 80 KB unless set,
// was a quarter of all the memory that a busy run asked for. A script has room for
// a thousand values; one that needs more gets an error that says so.
func init() { lua.RegistrySize = 1024 }

// maxIdle is how many servers wait for the next node: as many as a run in one
// process has at a time, and some.
const maxIdle = 16

// idle are servers that no node has, for the next: to make one, with its two hundred
// commands, cost a twelfth of a short trial. They are as good as new, so which one a
// node gets cannot be told.
var idle struct {
	sync.Mutex
	servers []*miniredis.Miniredis
}

// borrowServer gives a server without keys, scripts and hook.
func borrowServer() *miniredis.Miniredis {
	idle.Lock()
	defer idle.Unlock()
	if last := len(idle.servers) - 1; last >= 0 {
		m := idle.servers[last]
		idle.servers = idle.servers[:last]
		return m
	}
	m := miniredis.NewMiniRedis()
	// The first connection is what makes a miniredis without a socket ready; it
	// has no other use.
	c, err := m.Dial()
	if err != nil {
		panic(fmt.Sprintf("miniredis cannot start in memory: %v", err)) // no code path of v2.40.0
	}
	c.Close()
	return m
}

// returnServer takes a server in which no command is under way. It is never closed:
// that waits for the connection that it was made with, in the bubble of that time.
func returnServer(m *miniredis.Miniredis) {
	m.Server().SetPreHook(nil)
	m.FlushAll()
	script.NewConsole(m).Eval("SCRIPT", "FLUSH")
	idle.Lock()
	defer idle.Unlock()
	if len(idle.servers) < maxIdle {
		idle.servers = append(idle.servers, m)
	}
}
