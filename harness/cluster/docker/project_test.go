package docker

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/goccy/go-yaml"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/compose"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/internal/needs"
)

func TestConformance(t *testing.T) {
	clustertest.Run(t, Kind, func(t *testing.T, nodes int, change func(*cluster.Config), test func(clustertest.Bench)) {
		c := start(t, nodes, change)
		test(clustertest.Bench{Cluster: c,
			Over: func(client, node string) *redis.Client { return dialLink(t, c, client, node) }})
	})
}

// Both at the servers' own addresses and over the links.
func TestServers_ClientWithoutPassword_IsRefused(t *testing.T) {
	c := start(t, 1, func(cfg *cluster.Config) {
		cfg.Replicas, cfg.Sentinels = map[string]string{"r1": "n1"}, 3
	})
	addresses := slices.Collect(maps.Values(c.Paths()))
	for _, name := range []string{"n1", "r1", history.StoreName, "s1", "s2", "s3"} {
		addresses = append(addresses, c.project.containers[name].address)
	}
	clustertest.RefusesStrangers(t, addresses)
}

func TestRemoveImages_ImageBuiltByHand_RemovedOnceUnused(t *testing.T) {
	projects := open(t)
	const name = "lockproof:test-by-hand"
	buildByHand(t, projects, name)
	user, err := projects.engine.ContainerCreate(t.Context(), &container.Config{Image: name, Cmd: []string{"true"}}, nil,
		nil, nil, "")
	require.NoError(t, err)

	said, err := projects.engine.removeImages(t.Context())
	require.NoError(t, err)
	require.NotContains(t, said, "removed the image "+name)
	found, err := projects.engine.has(t.Context(), name)
	require.NoError(t, err)
	require.True(t, found, "a container that does not run needs its image, too")

	require.NoError(t, projects.engine.ContainerRemove(t.Context(), user.ID, container.RemoveOptions{}))
	said, err = projects.engine.removeImages(t.Context())
	require.NoError(t, err)
	require.Contains(t, said, "removed the image "+name)
	found, err = projects.engine.has(t.Context(), name)
	require.NoError(t, err)
	require.False(t, found)
}

// buildByHand builds the project's image by Compose, as a user does. The file's own name may be a user's image, so it
// uses another.
func buildByHand(t *testing.T, projects *Projects, name string) {
	t.Helper()
	base, err := projects.engine.base(t.Context(), Servers[0].Release, projects.record.Owner(), os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", name).Run() })
	command := append(projects.engine.compose, "-f", filepath.Join(projects.folder, "docker-compose.yml"),
		"build", "n1")
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "LOCKPROOF_IMAGE="+name, "LOCKPROOF_BASE="+base)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// It changes everything changeable in a server, and looks for it in the next run, in the same container.
func TestRenew_ServerWithChanges_IsReset(t *testing.T) {
	always := func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways }
	l := start(t, 1, always)
	n, db := l.Node("n1").(*node), dialLink(t, l, "c1", "n1")
	before, began, project := n.RunID(), startedAt(t, n), l.project.name
	for _, command := range [][]any{
		{"SET", "k1", "token"},
		{"FUNCTION", "LOAD", "#!lua name=lib\nredis.register_function('f', function() return 1 end)"},
		{"ACL", "SETUSER", "somebody", "on", "nopass", "+@all"},
		{"CONFIG", "SET", "maxmemory", "100mb", "appendfsync", "no"},
	} {
		require.NoError(t, db.Do(t.Context(), command...).Err(), command)
	}
	script, err := db.ScriptLoad(t.Context(), "return 1").Result()
	require.NoError(t, err)
	require.NoError(t, n.SetClock(t.Context(), time.Hour, 3))
	_, err = n.Disturb(func(d *cluster.DiskFaults) { d.Slow = 10 * time.Millisecond })
	require.NoError(t, err)
	require.NoError(t, db.Set(t.Context(), "k1", "slowly", 0).Err())
	require.NoError(t, l.Link("c1", "n1").Delay(history.Both, 10*time.Second))
	require.NoError(t, l.Close())

	l = start(t, 1, always)
	require.Equal(t, project, l.project.name)
	n, db = l.Node("n1").(*node), dialLink(t, l, "c1", "n1")
	require.Equal(t, began, startedAt(t, n), "the container did not live on, and starting one takes long")
	require.NotEqual(t, before, n.RunID())
	ctx := withTimeout(t, 5*time.Second)
	require.Zero(t, db.DBSize(ctx).Val())
	require.Equal(t, []bool{false}, db.ScriptExists(ctx, script).Val())
	functions, err := db.FunctionList(ctx, redis.FunctionListQuery{}).Result()
	require.NoError(t, err)
	require.Empty(t, functions)
	require.Equal(t, []any{"default"}, db.Do(ctx, "ACL", "USERS").Val())
	require.Equal(t, map[string]string{"maxmemory": "0"}, db.ConfigGet(ctx, "maxmemory").Val())
	require.Equal(t, map[string]string{"appendfsync": "always"}, db.ConfigGet(ctx, "appendfsync").Val())
	at, err := n.Clock(ctx)
	require.NoError(t, err)
	require.InDelta(t, l.Now(), at, float64(100*time.Millisecond))
	disturbed, err := n.Disturb(nil)
	require.NoError(t, err)
	require.Zero(t, disturbed)
	require.NoError(t, l.Close())

	l = start(t, 1, nil)
	id := l.Node("n1").(*node).container.id
	out, err := exec.Command("docker", "exec", id, "ls", "-A", "/machine/disk").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out), "a file of the run before")
}

// A server that waits for its disk forever does not obey a shutdown.
func TestRenew_HungServer_RestartsTheContainer(t *testing.T) {
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways })
	n, db := l.Node("n1").(*node), dialLink(t, l, "c1", "n1")
	began, project := startedAt(t, n), l.project.name
	_, err := n.Disturb(func(d *cluster.DiskFaults) { d.Slow = time.Hour })
	require.NoError(t, err)
	require.Error(t, db.Set(withTimeout(t, 100*time.Millisecond), "k1", "token", 0).Err())
	require.NoError(t, l.Close())

	l = start(t, 1, nil)
	require.Equal(t, project, l.project.name)
	require.NotEqual(t, began, startedAt(t, l.Node("n1").(*node)))
	require.NoError(t, dialLink(t, l, "c1", "n1").Ping(t.Context()).Err())
}

// startedAt is the start time of a node's container.
func startedAt(t *testing.T, n *node) string {
	t.Helper()
	seen, err := n.container.inspect(context.Background())
	require.NoError(t, err)
	return seen.State.StartedAt
}

// A user can start the file by hand. It publishes no port, grants no privilege, and limits resources.
func TestComposeFile_StandaloneAndConfined(t *testing.T) {
	command, err := findCompose(t.Context())
	needs.Check(t, needs.Engine, err)
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, compose.Files))
	command = append(command, "-f", filepath.Join(folder, "docker-compose.yml"), "config")
	var errors strings.Builder
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	require.NoError(t, err, errors.String())
	var resolved struct {
		Services map[string]map[string]any
	}
	require.NoError(t, yaml.Unmarshal(out, &resolved))
	for _, name := range append([]string{forwarder}, services...) {
		require.Contains(t, resolved.Services, name)
	}
	for name, service := range resolved.Services {
		require.Subset(t, []string{
			"build", "cap_drop", "cgroup_parent", "command", "depends_on", "entrypoint", "environment", "healthcheck",
			"image", "labels", "mem_limit", "networks",
			"pids_limit", "profiles", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs", "user", "volumes",
		}, slices.Collect(maps.Keys(service)), "%s: judge first what else it may do", name)
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
			require.NotContains(t, v.(string), ":", "%s mounts the host's %v", name, v)
		}
	}
}
