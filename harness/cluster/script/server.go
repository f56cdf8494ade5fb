package script

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
	lua "github.com/yuin/gopher-lua"
)

// miniredis makes a Lua state for each EVAL. Its registry, 80 KB by default, was a quarter of all memory that a busy
// run allocated. 1024 leaves room for a thousand values; a script that needs more fails with an error that says so.
func init() { lua.RegistrySize = 1024 }

// NewServer makes a server in memory without clients. It starts at its first connection.
func NewServer() *miniredis.Miniredis {
	m := miniredis.NewMiniRedis()
	c, err := m.Dial()
	if err != nil {
		panic(fmt.Sprintf("miniredis cannot start in memory: %v", err)) // no code path of v2.40.0
	}
	c.Close()
	return m
}
