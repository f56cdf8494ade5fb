package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck_MistakesForAnotherSystem_AreFound(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module example.org/toy\n\ngo 1.26.0\n",
		"toy.go":            "package toy\n\nvar Answer = answer()\n",
		"toy_unix.go":       "//go:build unix\n\npackage toy\n\nfunc answer() int { return 1 }\n",
		"toy_windows.go":    "package toy\n\nfunc answer() int { return \"one\" }\n",
		"darwin_test.go":    "//go:build darwin\n\npackage toy\n\nvar _ = other()\n",
		"plain/nothing.txt": "",
	} {
		name = filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	for platform, sound := range map[string]bool{"linux/amd64": true, "windows/amd64": false, "darwin/arm64": false} {
		checked, mistakes, err := check(folder, platform)
		require.NoError(t, err)
		require.NotZero(t, checked)
		require.Equal(t, sound, mistakes == 0, platform)
	}
	_, _, err := check(folder, "windows")
	require.ErrorContains(t, err, "want SYSTEM/PROCESSOR")
}
