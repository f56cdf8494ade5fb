package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// make rename, on a copy of this repository: each import is found, and none has the old path.
func TestTheModuleCanBeRenamed(t *testing.T) {
	needs.Long(t, "it lists what a copy of the repository under another path needs")
	needs.Commands(t, "git")
	files, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "-z", "--cached", "--others",
		"--exclude-standard").Output()
	needs.Check(t, needs.System, err)
	root := t.TempDir()
	var modules []string
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			continue // a link, or a file that is deleted
		}
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, text, 0o644))
		if filepath.Base(name) == "go.mod" {
			modules = append(modules, filepath.Dir(path))
		}
	}
	output := func(args ...string) string {
		t.Helper()
		said, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "go %v: %s", args, said)
		return string(said)
	}
	output("-C", "../../tools", "run", "./rename", "-root", root, "example.org/x/lockproof")
	for _, module := range modules {
		for name := range strings.Lines(output("-C", module, "list", "-deps", "./...")) {
			require.False(t, strings.HasPrefix(name, "example.org/lockproof"), "%s needs %s", module, name)
		}
	}
}
