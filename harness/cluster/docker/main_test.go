package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/internal/needs"
)

// stateFolder begins the names of the tests' state folders.
const stateFolder = "docker-test-"

// sweepKilled removes the remains of killed runs of these tests. Each run has its own state folder, which other sweeps
// do not read.
func sweepKilled() {
	killed, err := filepath.Glob(filepath.Join(os.TempDir(), stateFolder+"*"))
	if err != nil {
		panic(err) // a bad pattern
	}
	for _, state := range killed {
		os.Setenv("XDG_CACHE_HOME", state)
		if err := sweep(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "what a killed run of the tests left stays:", err)
			continue
		}
		for _, folder := range []string{filepath.Join(state, "lockproof", "runs"), filepath.Join(state, "lockproof"), state} {
			os.Remove(folder) // fails for a living run: its records are in it
		}
	}
}

func TestMain(m *testing.M) {
	if clustertest.Serve(map[string]clustertest.Role{"harness": runHarness}) {
		return
	}
	sweepKilled()
	// The tests keep their own records.
	state, err := os.MkdirTemp("", stateFolder)
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_CACHE_HOME", state)
	code := m.Run()
	if shared.projects != nil {
		if err := shared.projects.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.RemoveAll(state)
	os.Exit(code)
}

// shared by all tests, because projects start slowly.
var shared struct {
	once     sync.Once
	projects *Projects
	err      error
}

// available runs once: a silent engine takes long to time out.
var available = sync.OnceValue(func() error {
	_, err := Find(context.Background())
	return err
})

// open returns the tests' projects, and skips a test without an engine or an image.
func open(t testing.TB) *Projects {
	t.Helper()
	needs.Check(t, needs.Engine, available())
	shared.once.Do(func() {
		shared.projects, shared.err = Open(context.Background(), cluster.Choice{}, os.Stderr)
	})
	var lack *cluster.Unsupported
	if errors.As(shared.err, &lack) {
		needs.Check(t, needs.Image, lack)
	}
	require.NoError(t, shared.err)
	needs.Check(t, needs.Engine, networked())
	return shared.projects
}

// networked checks that the engine can make a network: an engine without that privilege has images, but starts no
// project.
var networked = sync.OnceValue(func() error {
	e, err := reach(context.Background())
	if err != nil {
		return err
	}
	defer e.Close()
	made, err := e.NetworkCreate(context.Background(), "docker-test-"+process.RandomName(), network.CreateOptions{})
	if err != nil {
		return fmt.Errorf("the engine can make no network: %w", err)
	}
	return e.NetworkRemove(context.Background(), made.ID)
})

// start makes a cluster of nodes n1..nN with clients c1 and c2; change may edit the configuration.
func start(t testing.TB, nodes int, change func(*cluster.Config)) *Cluster {
	t.Helper()
	projects := open(t)
	c, err := New(t.Context(), clustertest.Config(nodes, change), projects)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func dialLink(t testing.TB, c *Cluster, client, node string) *redis.Client {
	t.Helper()
	return clustertest.Dial(t, c.Address(client, node), realcluster.Password())
}

func withTimeout(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
