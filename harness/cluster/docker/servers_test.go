package docker

import (
	"io"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/history"
)

// TestAnImageOfTheUsers: one that has all that a node needs becomes one, and any
// other is refused with what it lacks.
func TestAnImageOfTheUsers(t *testing.T) {
	projects := open(t)
	const empty = "lockproof-test-empty:latest"
	out, err := exec.Command("sh", "-c", "tar -c -T /dev/null | docker import - "+empty).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() {
		out, err := exec.Command("docker", "rmi", empty).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	base, err := projects.engine.base(t.Context(), Servers[0].Release, "", io.Discard)
	require.NoError(t, err)
	for image, want := range map[string]string{
		"localhost:1/none": "the image localhost:1/none is not there and cannot be pulled",
		empty:              "exec: \"/bin/sh\": stat /bin/sh: no such file or directory",
		base:               "the image " + base + " cannot be used: it has neither redis-server nor valkey-server in PATH; it must be",
	} {
		_, err := Open(t.Context(), cluster.Choice{Image: image}, shared.program, io.Discard)
		var lack *cluster.Unsupported
		require.ErrorAs(t, err, &lack, image)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}

	own, err := Open(t.Context(), cluster.Choice{Image: projects.image}, shared.program, io.Discard)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	require.NotEqual(t, projects.image, own.image)
	c, err := New(t.Context(), cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"},
		Record: func(history.Event) {}}, own)
	require.NoError(t, err)
	require.Regexp(t, `^redis \d+\.\d+\.\d+$`, c.Server())
	require.NoError(t, c.Close())
}

func TestServersKnowWaitAOF(t *testing.T) {
	require.ErrorContains(t, knows(cluster.Choice{}, "WAITAOF"), "redis-7.0 does not know it; use --server redis-8.0")
	for _, choice := range []cluster.Choice{{Server: "redis-8.0"}, {Server: "valkey-8.1"}, {Image: "mine"}} {
		require.NoError(t, knows(choice, "WAITAOF"))
	}
	require.ErrorContains(t, knows(cluster.Choice{Server: "redis-6"}, "WAITAOF"), "there is no server")
}
