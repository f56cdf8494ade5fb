//go:build !overlaid

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

// TestBuilt_WithTheOverlay runs the tests below in a program that has it.
func TestBuilt_WithTheOverlay(t *testing.T) {
	needs.Commands(t, "go")
	file, err := overlay.Write(t.TempDir(), goroot(t), nil)
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay="+file, "-tags=overlaid", "-count=1", "-v", "-run", "^TestOverlaid", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 8, strings.Count(string(out), "\n--- PASS: "), "%s", out)
}

// Another release of Go may have another package net: then there is no overlay, and the error says what it lacks.
func TestWrite_UnknownRelease_SaysWhatItLacks(t *testing.T) {
	files := []string{"net/dial.go", "net/lookup.go", "net/tcpsock_posix.go", "internal/synctest/synctest.go"}
	for _, changed := range files {
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
		_, err := overlay.Write(t.TempDir(), root, nil)
		var unknown *overlay.ReleaseError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, changed, unknown.File)
		require.ErrorContains(t, err, "no overlay for this release of Go: "+changed+" does not have once \"func ")
	}
	_, err := overlay.Write(t.TempDir(), t.TempDir(), nil)
	require.ErrorContains(t, err, "no overlay for this release of Go", "a file is missing")
}

func TestNewClient_WithoutTheOverlay_IsNil(t *testing.T) {
	c := overlay.NewClient("c1", 1, nil)
	require.Nil(t, c)
	require.NoError(t, c.Close())
	require.Equal(t, "text", c.Plain("text", nil))
}
