package script

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A text that differs by an end of line is not known, and goes to Lua.
func TestANativeIsRehearsedAsLuaIs(t *testing.T) {
	for _, n := range Natives() {
		for _, args := range [][]string{{"7", "900"}, {"7", "x"}, {"a", "900"}, {"a", "-1"}} {
			keys := []string{"k", "l"}[:n.Keys]
			got, known := New().Of(n.Text, keys, args[:n.Args])
			want, knownToLua := New().Of(n.Text+"\n", keys, args[:n.Args])
			require.Equal(t, knownToLua, known, n.Text)
			require.Equal(t, want, got, "%s %q", n.Text, args)
		}
	}
}
