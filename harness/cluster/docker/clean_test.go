package docker

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/stretchr/testify/require"
)

// TestCleanRemovesWhatComposeBuilt: the image of a user who has brought the
// project up by hand goes with Lockproof's own, once no container needs it.
func TestCleanRemovesWhatComposeBuilt(t *testing.T) {
	projects := open(t)
	const name = "lockproof:test-by-hand"
	buildByHand(t, projects, name)
	user, err := projects.engine.ContainerCreate(t.Context(), &container.Config{Image: name, Cmd: []string{"true"}}, nil, nil, nil, "")
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

// buildByHand has Compose build the project's image as a user does, under another name
// than the file's own, which may be a user's.
func buildByHand(t *testing.T, projects *Projects, name string) {
	t.Helper()
	base, err := projects.engine.base(t.Context(), Servers[0].Release, projects.record.Owner(), os.Stderr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", name).Run() })
	command := append(projects.engine.compose, "-f", filepath.Join(projects.folder, "compose", "docker-compose.yml"), "build", "n1")
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "LOCKPROOF_IMAGE="+name, "LOCKPROOF_BASE="+base, "LOCKPROOF_CONTEXT="+projects.folder)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
