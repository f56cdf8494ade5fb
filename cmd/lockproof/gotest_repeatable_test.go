//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// rueidis has racing goroutines: plain go test hardly repeats a history.
func TestGoTest_Repeatable_OneSeedIsOneHistory(t *testing.T) {
	needs.Long(t, "it compiles Go's runtime, and all that is built on it")
	histories := func() map[string]string {
		said, results, err := example(t, "locktest", "-repeatable", "-run", "TestRueidis", ".")
		require.NoError(t, err, "%s", said)
		trials, all := filepath.Join(results, "TestRueidis", "histories"), map[string]string{}
		require.NoError(t, filepath.WalkDir(trials, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Name() == "history.jsonl" {
				text, err := os.ReadFile(path)
				all[strings.TrimPrefix(path, trials)] = string(text)
				return err
			}
			return err
		}))
		return all
	}
	first := histories()
	require.Greater(t, len(first), 40)
	require.Equal(t, first, histories())
}

func TestGoTest_RepeatableOnAnotherRelease_IsRefused(t *testing.T) {
	fakeGo(t, t.TempDir(), "", "")
	done := fake(nil).try("test", "-repeatable", "./...")
	require.NotEqual(t, 0, done.code)
	require.Empty(t, done.out, "no test is run as if it were repeatable")
	require.Contains(t, done.err, "no overlay for this release of Go")
}
