//go:build !overlaid && !repeatable

package overlay_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/overlay"
	"example.org/lockproof/internal/needs"
)

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// TestBuilt_WithTheOverlay runs the tests of overlaid_test.go in a program with the overlay.
func TestBuilt_WithTheOverlay(t *testing.T) {
	needs.Commands(t, "go")
	file, err := overlay.Write(t.TempDir(), goroot(t), overlay.Options{})
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay="+file, "-tags=overlaid", "-count=1", "-v",
		"-run", "^TestOverlaid", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 8, strings.Count(string(out), "\n--- PASS: "), "%s", out)
}

// TestBuilt_Repeatable runs the tests of repeatable_test.go in a program whose runtime is seeded.
func TestBuilt_Repeatable(t *testing.T) {
	needs.Long(t, "it compiles Go's runtime, and all that is built on it")
	needs.Commands(t, "go")
	file, err := overlay.Write(t.TempDir(), goroot(t), overlay.Options{Repeatable: true})
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay="+file, "-tags=repeatable", "-count=1", "-v",
		"-run", "^TestRepeatable", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 2, strings.Count(string(out), "\n--- PASS: "), "%s", out)
}

// Another release of Go may have another package net or another runtime: then Write fails, and the error names the
// missing line.
func TestWrite_UnknownRelease_NamesTheMissingLine(t *testing.T) {
	files := []string{"net/dial.go", "net/lookup.go", "net/tcpsock_posix.go", "internal/synctest/synctest.go"}
	for _, changed := range append(files, "") {
		root := t.TempDir()
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(goroot(t), "src", filepath.FromSlash(file)))
			require.NoError(t, err)
			to := filepath.Join(root, "src", filepath.FromSlash(file))
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
			if file == changed {
				text = []byte(strings.ReplaceAll(string(text), "func ", "func /* */ "))
			}
			require.NoError(t, os.WriteFile(to, text, 0o644))
		}
		_, err := overlay.Write(t.TempDir(), root, overlay.Options{})
		if changed == "" {
			require.NoError(t, err, "package net is as it was")
			_, err = overlay.Write(t.TempDir(), root, overlay.Options{Repeatable: true})
			require.ErrorContains(t, err, "no overlay for this release of Go: runtime/runtime2.go does not have once")
			continue
		}
		var unknown *overlay.ReleaseError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, changed, unknown.File)
		require.ErrorContains(t, err, "no overlay for this release of Go: "+changed+" does not have once \"func ")
	}
	_, err := overlay.Write(t.TempDir(), t.TempDir(), overlay.Options{})
	require.ErrorContains(t, err, "no overlay for this release of Go", "a file is missing")
}

// With the overlay or without, no two clients share what a library keeps under an address.
func TestNewClient_HasServersOfItsOwn(t *testing.T) {
	first, second := overlay.NewClient("c1", 1, nil), overlay.NewClient("c1", 1, nil)
	require.NotEqual(t, first.Address(0), second.Address(0))
	require.Equal(t, "dial n1: refused", first.Plain("dial "+first.Address(0)+": refused", []string{"n1"}))
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	var none *overlay.Client
	require.NoError(t, none.Close())
	require.Equal(t, "text", none.Plain("text", nil))
}
