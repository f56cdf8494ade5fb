package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable_NarrowScreen_KeepsColumnsApart(t *testing.T) {
	table := NewTable("scenario", "verdicts", "trials")
	table.Row("flushall", "✗ mutual-exclusion", "0/1")
	for width := 18; width < 40; width++ {
		text := table.Fitted(Screen{Width: width})
		require.LessOrEqual(t, Width(text), width, text)
		_, rows, _ := strings.Cut(text, "─\n")
		first, _, _ := strings.Cut(rows, "\n")
		require.Regexp(t, ` 0/1$`, first, text)
	}
}
