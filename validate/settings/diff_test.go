package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// diffOf compares a file's text with what becomes of it.
func diffOf(t *testing.T, old, text string) Diff {
	t.Helper()
	t.Chdir(t.TempDir())
	if old != "" {
		require.NoError(t, os.WriteFile("redis.conf", []byte(old), 0o600))
	}
	s, err := Default().from(&reader{})
	require.NoError(t, err)
	if old != "" {
		s, err = Disk.ReadRedis("redis.conf", nil)
		require.NoError(t, err)
	}
	d, err := Disk.with("redis.conf", text).Diff(s, Policy{})
	require.NoError(t, err)
	require.Equal(t, []string{"redis.conf"}, d.Files)
	require.False(t, d.Root)
	return d
}

func TestADiff(t *testing.T) {
	d := diffOf(t, "port 1\n", "port 2\n")
	require.Equal(t, "--- a/redis.conf\n+++ b/redis.conf\n@@ -1 +1 @@\n-port 1\n+port 2\n", d.Text)
	require.False(t, d.Redacted)
	d = diffOf(t, "", "port 2\n")
	require.Equal(t, "--- /dev/null\n+++ b/redis.conf\n@@ -0,0 +1 @@\n+port 2\n", d.Text)
}

// Lines with secrets are not told: around a change they are left out, and in it they are
// hidden.
func TestADiffTellsNoSecret(t *testing.T) {
	d := diffOf(t, "port 1\nrequirepass hunter22\n", "port 1\nrequirepass hunter22\nappendonly yes\n")
	require.Equal(t, "--- a/redis.conf\n+++ b/redis.conf\n@@ -2,0 +3 @@\n+appendonly yes\n", d.Text)
	require.False(t, d.Redacted)

	d = diffOf(t, "a 1\nb 2\nport 1\nb 3\nmasterauth hunter22\n", "a 1\nb 2\nport 2\nb 3\nmasterauth hunter22\n")
	require.Equal(t, "--- a/redis.conf\n+++ b/redis.conf\n@@ -2,3 +2,3 @@\n b 2\n-port 1\n+port 2\n b 3\n", d.Text)

	d = diffOf(t, "x redis-server --requirepass hunter22 --port 1\nrequirepass hunter22\n",
		"x redis-server --requirepass hunter22 --port 2\nrequirepass hunter22\n")
	require.True(t, d.Redacted)
	require.Contains(t, d.Text, "-x redis-server --requirepass AS-BEFORE --port 1\n+x redis-server --requirepass AS-BEFORE --port 2\n")
	require.NotContains(t, d.Text, "hunter22")

	d = diffOf(t, "x REDIS_PASSWORD=hunter22 --port 1\n", "x REDIS_PASSWORD=hunter22 --port 2\n")
	require.True(t, d.Redacted)
	require.NotContains(t, d.Text, "hunter22")
}

// Names that do not lie in the folder at hand are told from the root.
func TestADiffFromTheRoot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b.conf")
	require.NoError(t, os.WriteFile(file, []byte("port 1\n"), 0o600))
	d, err := Disk.with(file, "port 2\n").Diff(Default(), Policy{})
	require.NoError(t, err)
	require.True(t, d.Root)
	require.True(t, strings.HasPrefix(d.Text, "--- a"+filepath.ToSlash(file)+"\t\n"), d.Text)
}
