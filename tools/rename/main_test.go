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

// Texts with the module's path, and with words that only look like it.
var renamed = map[string][2]string{
	"go.mod": {"module git.invalid/lockproof\n\ngo 1.26.0\n", "module example.org/x/lockproof\n\ngo 1.26.0\n"},
	"tools/go.mod": {
		"module git.invalid/lockproof/tools\n\nrequire git.invalid/lockproof v0.0.0\n\nreplace git.invalid/lockproof => " +
			"../\nreplace git.invalid/lockproof/bench => ../bench\n",
		"module example.org/x/lockproof/tools\n\nrequire example.org/x/lockproof v0.0.0\n\n" +
			"replace example.org/x/lockproof => ../\nreplace example.org/x/lockproof/bench => ../bench\n",
	},
	"redlock/a.go": {
		"package redlock\n\nimport _ \"git.invalid/lockproof/harness/locks\"\n\nvar a, b = \"lockproof\", " +
			"\"out/lockproof/harness\"\n",
		"package redlock\n\nimport _ \"example.org/x/lockproof/harness/locks\"\n\nvar a, b = \"lockproof\", " +
			"\"out/lockproof/harness\"\n",
	},
	"harness/locks/b.go": {"// lockproof run\npackage locks\n", "// lockproof run\npackage locks\n"},
	"README.md": {
		"`lockproof run` imports git.invalid/lockproof/redlock; `lockproof/TestLock/summary.txt`, testdata/lockproof/ and " +
			"/etc/lockproof/harness\n" +
			"go mod edit -require git.invalid/lockproof@v0.0.0 -replace git.invalid/lockproof=../lockproof\n",
		"`lockproof run` imports example.org/x/lockproof/redlock; `lockproof/TestLock/summary.txt`, testdata/lockproof/ " +
			"and /etc/lockproof/harness\n" +
			"go mod edit -require example.org/x/lockproof@v0.0.0 -replace example.org/x/lockproof=../lockproof\n",
	},
	"tools/dist/c.go": {"package main\n\nvar p = \"git.invalid/lockproof/cmd/lockproof\"\n",
		"package main\n\nvar p = \"example.org/x/lockproof/cmd/lockproof\"\n"},
	"cmd/d.go":    {"package main\n", "package main\n"},
	"ci.yml":      {"uses: your-org/lockproof@v1\n", "uses: your-org/lockproof@v1\n"}, // it is on no GitHub
	"bin/text.md": {"git.invalid/lockproof/redlock\n", "git.invalid/lockproof/redlock\n"},
}

func TestRename_ChangesOnlyTheModulePath(t *testing.T) {
	root := t.TempDir()
	for name, text := range renamed {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text[0]), 0o644))
	}
	changed, err := rename(root, "example.org/x/lockproof")
	require.NoError(t, err)
	require.Equal(t, 5, changed)
	for name, text := range renamed {
		now, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, text[1], string(now), name)
	}
	_, err = rename(root, "github.com/you/lockproof")
	require.NoError(t, err)
	now, err := os.ReadFile(filepath.Join(root, "ci.yml"))
	require.NoError(t, err)
	require.Equal(t, "uses: you/lockproof@v1\n", string(now))
}

func TestRename_RefusesAPathWithoutADot(t *testing.T) {
	_, err := rename(t.TempDir(), "lockproof/x")
	require.ErrorContains(t, err, `invalid module path "lockproof/x": want a host with a dot and a path`)
}

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
	_, err = rename(root, "example.org/x/lockproof")
	require.NoError(t, err)
	for _, module := range modules {
		said, err := exec.CommandContext(t.Context(), "go", "-C", module, "list", "-deps", "./...").CombinedOutput()
		require.NoError(t, err, "%s", said)
		for name := range strings.Lines(string(said)) {
			require.False(t, strings.HasPrefix(name, "example.org/lockproof"), "%s needs %s", module, name)
		}
	}
}
