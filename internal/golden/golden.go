package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// Require fails the test at the first line in which a text differs from a golden file.
func Require(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	before, now := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(before), len(now)) {
		require.Equal(t, before[i], now[i], "%s:%d: write it anew with -update, and see what has changed", path, i+1)
	}
	require.Len(t, now, len(before), path)
}
