package docker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/locks"
)

func TestWorker_Acquires_EventsRecordedByClose(t *testing.T) {
	var seen clustertest.Events
	c := start(t, 5, func(cfg *cluster.Config) { cfg.Record = seen.Record })
	ended := make(chan client.Message, 1)
	w, err := c.Spawn(t.Context(), client.Setup{Name: "c1", Lock: locks.Reference,
		Options: locks.Options{TTL: 5 * time.Second}.WithDefaults()},
		func(m client.Message) {
			if m.Done != 0 || m.Error != "" {
				ended <- m
			}
		})
	require.NoError(t, err)
	require.NoError(t, w.Send(client.Command{Do: client.DoAcquire, Serial: 1, Key: "k1", Within: 30 * time.Second}))
	select {
	case m := <-ended:
		require.Equal(t, history.TypeOK, m.Outcome)
	case <-time.After(time.Minute):
		require.Fail(t, "the client has not answered")
	}
	require.NoError(t, w.Close())
	taken := map[string]bool{} // by link; on a busy machine not every link
	for _, e := range seen.All() {
		if e.Type == history.TypeReply && e.Command.Effect == history.EffectSet && e.Command.Done {
			taken[e.Process] = true
		}
		require.GreaterOrEqual(t, e.Time, int64(0), "an event before the run began")
		require.LessOrEqual(t, e.Time, c.Now(), "an event that is still to come")
	}
	require.GreaterOrEqual(t, len(taken), 3)
}

// Concurrent clusters have separate projects. A cluster with a used project finds nothing in it.
func TestNew_ConcurrentAndLaterRuns_AreIsolated(t *testing.T) {
	a := start(t, 2, nil)
	b := start(t, 2, nil)
	require.NotEqual(t, a.project.name, b.project.name)
	require.NoError(t, dialLink(t, a, "c1", "n1").Set(t.Context(), "k1", "a", 0).Err())
	require.NoError(t, dialLink(t, a, "c1", history.StoreName).Set(t.Context(), "k1", "v1", 0).Err())
	look, err := b.Node("n1").Look(t.Context())
	require.NoError(t, err)
	require.Empty(t, look.Keys, "the clusters meet")

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
		look, err := next.Node(name).Look(t.Context())
		require.NoError(t, err)
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

	name, folder := killedHarness(t)
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

// killedHarness runs a harness until its project is up, kills it, and returns the project's name and the harness's
// folder.
func killedHarness(t *testing.T) (name, folder string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOCKPROOF_TEST_HARNESS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	var said [2]string
	require.NoError(t, json.Unmarshal([]byte(line), &said))
	return said[0], said[1]
}

// runHarness is the harness to be killed.
func runHarness() error {
	projects, err := Open(context.Background(), cluster.Choice{}, io.Discard)
	if err != nil {
		return err
	}
	cfg := cluster.Config{Nodes: []string{"n1", "n2"}, Clients: []string{"c1"}, Record: func(history.Event) {}}
	c, err := New(context.Background(), cfg, projects)
	if err != nil {
		return err
	}
	// A fault in effect must not prevent the removal.
	if err := c.Node("n2").Pause(context.Background()); err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode([2]string{c.project.name, projects.folder}); err != nil {
		return err
	}
	select {}
}

func TestProjectsClose_TwoProjects_RemovesBoth(t *testing.T) {
	open(t)
	projects, err := Open(t.Context(), cluster.Choice{}, io.Discard)
	require.NoError(t, err)
	cfg := cluster.Config{Nodes: []string{"n1"}, Clients: []string{"c1"}, Record: func(history.Event) {}}
	var all sync.WaitGroup
	names := make([]string, 2)
	for i := range names {
		all.Go(func() {
			c, err := New(context.Background(), cfg, projects)
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
