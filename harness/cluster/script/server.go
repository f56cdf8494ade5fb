package script

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
	lua "github.com/yuin/gopher-lua"
)

// miniredis makes a Lua state for each EVAL, whose registry, of 80 KB unless set,
// was a quarter of all the memory that a busy run asked for. A script has room for
// a thousand values; one that needs more gets an error that says so.
func init() { lua.RegistrySize = 1024 }

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
