package deploy

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSearch_UnitOfThisMachine_AbsoluteFolders(t *testing.T) {
	for _, file := range []string{"/etc/systemd/system/redis.service", "/usr/lib/systemd/system/redis.service",
		"/srv/copy/etc/systemd/system/redis.service"} {
		root, folders, inUse := search(file)
		require.True(t, inUse, file)
		require.Contains(t, folders, filepath.Dir(file))
		for _, folder := range folders {
			require.True(t, filepath.IsAbs(folder), "%s: %s", file, folder)
		}
		require.Equal(t, map[bool]string{true: "/srv/copy"}[file[:5] == "/srv/"], root)
	}
}
