package docker

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

// TestARunFindsNothingOfTheOneBefore changes all that can be changed of a server,
// and looks for it in the next run, in the same container.
func TestARunFindsNothingOfTheOneBefore(t *testing.T) {
	always := func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways }
	l := start(t, 1, always)
	n, db := l.nodes["n1"], over(t, l, "c1", "n1")
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
	require.NoError(t, l.Link("c1", "n1").Delay(cluster.Both, 10*time.Second))
	require.NoError(t, l.Close())

	l = start(t, 1, always)
	require.Equal(t, project, l.project.name)
	n, db = l.nodes["n1"], over(t, l, "c1", "n1")
	require.Equal(t, began, startedAt(t, n), "the container did not live on, and starting one takes long")
	require.NotEqual(t, before, n.RunID())
	ctx := within(t, 5*time.Second)
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
	out, err := exec.Command("docker", "exec", l.nodes["n1"].box.id, "ls", "-A", "/machine/disk").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Empty(t, string(out), "a file of the run before")
}

// TestAServerThatDoesNotObeyIsReplaced: one that waits for its disk for ever cannot
// be told to end.
func TestAServerThatDoesNotObeyIsReplaced(t *testing.T) {
	l := start(t, 1, func(cfg *cluster.Config) { cfg.Persistence = cluster.PersistAlways })
	n, db := l.nodes["n1"], over(t, l, "c1", "n1")
	began, project := startedAt(t, n), l.project.name
	_, err := n.Disturb(func(d *cluster.DiskFaults) { d.Slow = still })
	require.NoError(t, err)
	require.Error(t, db.Set(within(t, 100*time.Millisecond), "k1", "token", 0).Err())
	require.NoError(t, l.Close())

	l = start(t, 1, nil)
	require.Equal(t, project, l.project.name)
	require.NotEqual(t, began, startedAt(t, l.nodes["n1"]))
	require.NoError(t, over(t, l, "c1", "n1").Ping(t.Context()).Err())
}

// startedAt says when a node's container was started.
func startedAt(t *testing.T, n *node) string {
	t.Helper()
	seen, err := n.box.inspect(context.Background())
	require.NoError(t, err)
	return seen.State.StartedAt
}
