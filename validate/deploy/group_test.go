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

func TestGroup_FindsDeployments(t *testing.T) {
	const unit = "[Service]\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf\n"
	const compose = "services: {lock: {image: redis}}\n"
	const orphan = "etc/systemd/system/redis.service.d/sync.conf"
	type files = map[string]string
	for _, tt := range []struct {
		name         string
		files, links files
		folder       string
		want         [][]string
	}{
		{"a drop-in without its unit is a deployment", files{"etc/redis/redis.conf": "appendonly yes\n",
			orphan: "[Service]\nExecStart=\nExecStart=/usr/bin/redis-server /etc/redis/redis.conf --appendfsync no\n"}, nil,
			".", [][]string{{orphan}}},
		{"a drop-in elsewhere belongs to its unit by its name", files{"units/redis.service": unit,
			"parts/redis.service.d/a.conf": "[Service]\nNice=1\n"}, nil,
			".", [][]string{{"units/redis.service", "parts/redis.service.d/a.conf"}}},
		{"systemd's order counts for the drop-ins that it finds", files{"etc/systemd/system/redis.service": unit,
			"etc/systemd/system/redis.service.d/a.conf":     "[Service]\nNice=1\n",
			"usr/lib/systemd/system/redis.service.d/a.conf": "[Service]\nNice=2\n"}, nil,
			".", [][]string{{"etc/systemd/system/redis.service"}}},
		{"a link to a file elsewhere is read", files{"real/compose.yaml": compose, "app/README": ""},
			files{"app/compose.yaml": "../real/compose.yaml", "app/lost.yaml": "nowhere.yaml"},
			"app", [][]string{{"app/compose.yaml"}, {"app/lost.yaml"}}},
		{"a linked file is read once, by its own name", files{"real/compose.yaml": compose, "app/README": ""},
			files{"app/compose.yaml": "../real/compose.yaml", "app/lost.yaml": "nowhere.yaml"},
			".", [][]string{{"app/lost.yaml"}, {"real/compose.yaml"}}},
		{"nothing else opens a linked file of another ending", files{"compose.production": compose},
			files{"compose.yaml": "compose.production"}, ".", [][]string{{"compose.yaml"}}},
		{"an ending in capitals", files{"docker-compose.YML": compose}, nil, ".", [][]string{{"docker-compose.YML"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			written(t, tt.files)
			for link, to := range tt.links {
				require.NoError(t, os.Symlink(to, link))
			}
			groups, err := Group(tt.folder)
			require.NoError(t, err)
			require.Equal(t, tt.want, groups)
		})
	}
}
