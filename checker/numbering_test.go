package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever comes, in whatever order: equal strings have one number, others have
// others, and each number gives its string back. A map is the oracle.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, known := numberingOf[text](), map[string]text{"": 0}
		for i := range rapid.IntRange(0, 300).Draw(t, "strings") {
			s := rapid.OneOf(rapid.StringN(0, 3, -1), rapid.Just(strings.Repeat("x", i*i))).Draw(t, "s")
			number, before := known[s]
			if !before {
				number = text(len(known))
			}
			require.Equal(t, number, n.find(s))
			require.Equal(t, number, n.of(s))
			known[s] = number
			require.Equal(t, number, n.find(s))
		}
		for s, number := range known {
			require.Equal(t, s, n.string(number))
		}
	})
}
