package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/explore"
	"example.org/lockproof/scenarios"
)

// A file that explore wrote is about one lock: who runs it against another is told so.
func TestAFoundFileRemembersItsLock(t *testing.T) {
	space := explore.Space{Lock: "redsync", TTL: time.Second}
	path := filepath.Join(t.TempDir(), "found.yaml")
	text := space.Draw(1).Text(explore.About{Name: "found", Title: "A find", Source: "a test", Lesson: "It is one.", Lock: "redsync",
		Expect: map[string]string{"mutual-exclusion": "holds"}})
	require.NoError(t, os.WriteFile(path, text, 0o644))
	s, err := scenarios.Load(path)
	require.NoError(t, err)
	require.Equal(t, "redsync", s.Lock.Name)

	for lock, want := range map[string]string{
		"":        "",
		"redsync": "",
		"redlock": "lockproof: " + path + " is about the lock redsync, and is run against redlock\n",
	} {
		args := []string{"run", path, "--out", filepath.Join(t.TempDir(), "out")}
		if lock != "" {
			args = append(args, "--lock", lock)
		}
		require.Equal(t, want, fake(verdict("holds", "holds")).try(args...).err, lock)
	}
}
