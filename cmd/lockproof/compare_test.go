package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
)

func TestCompareExitCodes(t *testing.T) {
	root := t.TempDir()
	run := func(name, got string) string {
		dir := filepath.Join(root, name)
		require.NotEqual(t, exitUsage, fake(verdict(history.Holds, got)).try("run", "flushall", "--out", dir).code)
		return dir
	}
	held, again := run("held", history.Holds), run("again", history.Holds)
	broken, unknown := run("broken", history.Violated), run("unknown", history.Inconclusive)
	for _, c := range []struct {
		folders []string
		code    int
		says    string
	}{
		{[]string{held, again}, 0, "1 row in 2 runs: 1 agree."},
		{[]string{held, again, broken}, 1, "DISAGREE: flushall"},
		{[]string{held, unknown}, 4, "INCOMPLETE: flushall"},
	} {
		got := fake(expected).try(append([]string{"compare"}, c.folders...)...)
		require.Equal(t, c.code, got.code, got.err)
		require.Contains(t, got.out, c.says)
		require.Contains(t, got.out, c.folders[0], "with nothing else to tell them apart, by their folders")
	}
}
