package deploy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// written makes files of the working directory, each with a text.
func written(t *testing.T, texts map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for file, text := range texts {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

const unitOfServer = "[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf\n"

func TestGroup_DropInWithoutItsUnit_IsADeployment(t *testing.T) {
	const dropIn = "etc/systemd/system/redis.service.d/sync.conf"
	written(t, map[string]string{"etc/redis/redis.conf": "appendonly yes\n",
		dropIn: "[Service]\nExecStart=\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf --appendfsync no\n"})
	groups, err := Group(".")
	require.NoError(t, err)
	require.Equal(t, [][]string{{dropIn}}, groups)
}

// A drop-in is named after its unit, and its text need not name the server.
func TestGroup_DropInElsewhere_IsGivenWithItsUnit(t *testing.T) {
	written(t, map[string]string{"units/redis.service": unitOfServer,
		"parts/redis.service.d/a.conf": "[Service]\nNice=1\n"})
	groups, err := Group(".")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"units/redis.service", "parts/redis.service.d/a.conf"}}, groups)
}

// systemd's own order of the folders counts for a drop-in that it finds.
func TestGroup_DropInThatSystemdFinds_IsNotGiven(t *testing.T) {
	written(t, map[string]string{"etc/systemd/system/redis.service": unitOfServer,
		"etc/systemd/system/redis.service.d/a.conf":     "[Service]\nNice=1\n",
		"usr/lib/systemd/system/redis.service.d/a.conf": "[Service]\nNice=2\n"})
	groups, err := Group(".")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"etc/systemd/system/redis.service"}}, groups)
}

func TestGroup_LinkToAFileElsewhere_IsRead(t *testing.T) {
	written(t, map[string]string{"real/compose.yaml": "services: {lock: {image: redis}}\n", "app/README": ""})
	require.NoError(t, os.Symlink("../real/compose.yaml", "app/compose.yaml"))
	require.NoError(t, os.Symlink("nowhere.yaml", "app/lost.yaml"))
	groups, err := Group("app")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"app/compose.yaml"}, {"app/lost.yaml"}}, groups)
	groups, err = Group(".")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"app/lost.yaml"}, {"real/compose.yaml"}}, groups, "once, by its own name")
}

// Nothing else opens the file that it leads to.
func TestGroup_LinkToAFileOfAnotherEnding_IsRead(t *testing.T) {
	written(t, map[string]string{"compose.production": "services: {lock: {image: redis}}\n"})
	require.NoError(t, os.Symlink("compose.production", "compose.yaml"))
	groups, err := Group(".")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"compose.yaml"}}, groups)
}

func TestGroup_ExtensionInCapitals_IsRead(t *testing.T) {
	written(t, map[string]string{"docker-compose.YML": "services: {lock: {image: redis}}\n"})
	groups, err := Group(".")
	require.NoError(t, err)
	require.Equal(t, [][]string{{"docker-compose.YML"}}, groups)
}
