package docker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/history"
)

// Concurrent clusters have separate projects. A cluster with a used project finds nothing in it.
func TestNew_ConcurrentAndLaterRuns_AreIsolated(t *testing.T) {
	a := start(t, 2, nil)
	b := start(t, 2, nil)
	require.NotEqual(t, a.project.name, b.project.name)
	require.NoError(t, dialLink(t, a, "c1", "n1").Set(t.Context(), "k1", "a", 0).Err())
	require.NoError(t, dialLink(t, a, "c1", history.StoreName).Set(t.Context(), "k1", "v1", 0).Err())
	require.Empty(t, clustertest.Look(t, b.Node("n1")).Keys, "the clusters meet")

	// A pending command, a paused node and a killed node must not affect the next run.
	stale := dialLink(t, a, "c2", "n2")
	require.NoError(t, stale.Ping(t.Context()).Err())
	require.NoError(t, a.Node("n2").Pause(t.Context()))
	_ = stale.Set(withTimeout(t, 20*time.Millisecond), "k2", "late", 0)
	require.NoError(t, a.Node("n1").Kill(t.Context()))
	require.NoError(t, a.Link("c1", "n2").Cut(history.Both))
	require.NoError(t, a.Close())
	require.NoError(t, a.Close(), "a second close changes nothing")
	require.ErrorContains(t, a.Node("n1").Start(t.Context()), "the cluster is closed")

	next := start(t, 2, nil)
	require.Equal(t, a.project.name, next.project.name, "the project is not used again")
	time.Sleep(20 * time.Millisecond)
	for _, name := range []string{"n1", "n2", history.StoreName} {
		look := clustertest.Look(t, next.Node(name))
		require.True(t, look.Up, name)
		require.Empty(t, look.Keys, name)
		require.NoError(t, dialLink(t, next, "c1", name).Ping(withTimeout(t, time.Second)).Err())
	}
}

// It does not remove a living harness's project, nor another user's container.
func TestSweep_KilledHarness_RemovesItsProject(t *testing.T) {
	projects := open(t)
	mine := start(t, 1, nil)
	other, err := projects.engine.ContainerCreate(t.Context(), &container.Config{
		Image: projects.image, Cmd: []string{"true"}, Labels: map[string]string{label: "somebody else's",
			hostLabel: "elsewhere", recordLabel: "/nowhere/run-1.jsonl", projectLabel: "elsewhere"},
	}, nil, nil, nil, "")
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, projects.engine.ContainerRemove(context.Background(), other.ID, container.RemoveOptions{}))
	})

	var names [2]string
	cmd, _ := clustertest.Harness(t, &names)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	name, folder := names[0], names[1]
	require.DirExists(t, folder)
	require.NotZero(t, left(t, projects.engine, name), "the harness had nothing that could be left")
	said, err := projects.engine.sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprintf("removed the compose project %s: %d containers, 1 networks",
		name, len(services)+len(sentinels)+1)}, said)
	require.Zero(t, left(t, projects.engine, name))
	require.NoDirExists(t, folder, "nobody has a record of it any more")

	_, err = projects.engine.ContainerInspect(t.Context(), other.ID)
	require.NoError(t, err, "somebody else's container is gone")
	require.NoError(t, dialLink(t, mine, "c1", "n1").Ping(t.Context()).Err(), "a living harness's project is gone")
	said, err = projects.engine.sweep(t.Context())
	require.NoError(t, err)
	require.Empty(t, said)
	_, err = projects.engine.removeImages(t.Context()) // of earlier harnesses
	require.NoError(t, err)
	found, err := projects.engine.has(t.Context(), projects.image)
	require.NoError(t, err)
	require.True(t, found, "an image that a living harness uses is gone")
}

// left counts a project's containers, networks and volumes.
func left(t *testing.T, e *engine, name string) int {
	t.Helper()
	n := 0
	for _, kind := range [][]string{{"ps", "-aq"}, {"network", "ls", "-q"}, {"volume", "ls", "-q"}} {
		out, err := exec.Command("docker", append(kind, "--filter", "label="+projectLabel+"="+name)...).Output()
		require.NoError(t, err)
		n += len(bytes.Fields(out))
	}
	return n
}

// runHarness is the harness to be killed. It prints its project's name and its folder.
func runHarness(_ io.Reader, w io.Writer) error {
	projects, err := Open(context.Background(), cluster.Choice{}, io.Discard)
	if err != nil {
		return err
	}
	c, err := New(context.Background(), clustertest.Config(2, nil), projects)
	if err != nil {
		return err
	}
	// A fault in effect must not prevent the removal.
	if err := errors.Join(c.Node("n2").Pause(context.Background()),
		json.NewEncoder(w).Encode([2]string{c.project.name, projects.folder})); err != nil {
		return err
	}
	select {}
}

func TestProjectsClose_TwoProjects_RemovesBoth(t *testing.T) {
	open(t)
	projects, err := Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	var all sync.WaitGroup
	names := make([]string, 2)
	for i := range names {
		all.Go(func() {
			c, err := New(context.Background(), clustertest.Config(1, nil), projects)
			if err != nil {
				t.Error(err)
				return
			}
			names[i] = c.project.name
			time.Sleep(100 * time.Millisecond) // so that each starts its own
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.NotZero(t, left(t, projects.engine, names[0]))
	require.FileExists(t, projects.record.File())
	require.NoError(t, projects.Close())
	for _, name := range names {
		require.Zero(t, left(t, projects.engine, name), name)
	}
	require.NoDirExists(t, projects.folder)
	require.NoFileExists(t, projects.record.File())
}
