package docker

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/compose"
	"example.org/lockproof/internal/needs"
)

// TestTheFileIsForEverybody: Compose takes the file as it is, for a user who wants
// to look around; it publishes no port, gives no container a
// privilege, and bounds what each can take.
func TestTheFileIsForEverybody(t *testing.T) {
	command, err := findCompose(t.Context())
	needs.Check(t, needs.Engine, err)
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(folder, "compose"), compose.Files))
	command = append(command, "-f", filepath.Join(folder, "compose", "docker-compose.yml"), "config")
	var errors strings.Builder
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, errors.String())
	var resolved struct {
		Services map[string]map[string]any
	}
	require.NoError(t, yaml.Unmarshal(out, &resolved))
	for _, name := range append([]string{proxyService}, services...) {
		require.Contains(t, resolved.Services, name)
	}
	for name, service := range resolved.Services {
		require.Subset(t, []string{
			"build", "cap_drop", "cgroup_parent", "command", "depends_on", "entrypoint", "environment", "healthcheck",
			"image", "labels", "mem_limit", "networks",
			"pids_limit", "profiles", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs", "volumes",
		}, slices.Collect(maps.Keys(service)), "%s: what else it may do is to be judged first", name)
		require.Equal(t, []any{"ALL"}, service["cap_drop"], name)
		require.Equal(t, []any{"no-new-privileges:true"}, service["security_opt"], name)
		require.Equal(t, true, service["read_only"], name)
		require.NotEmpty(t, service["mem_limit"], name)
		require.NotEmpty(t, service["pids_limit"], name)
		require.NotEmpty(t, service["healthcheck"], name)
		volumes, _ := service["volumes"].([]any)
		for _, v := range volumes {
			if long, ok := v.(map[string]any); ok {
				require.NotEqual(t, "bind", long["type"], name)
				continue
			}
			require.False(t, strings.HasPrefix(v.(string), "/"), "%s mounts the host's %v", name, v)
		}
	}
}
