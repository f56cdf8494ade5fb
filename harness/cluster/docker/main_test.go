package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/docker/docker/api/types/network"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/client"
	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/clustertest"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/cluster/realcluster"
	"example.org/lockproof/internal/needs"
)

// workerArgument makes the test binary a client.
const workerArgument = "worker"

// stateFolder is how the name begins of a folder in which a run of the tests keeps its
// records.
const stateFolder = "docker-test-"

// sweepKilled removes what runs of these tests left that were killed. Their records are
// in folders of their own, and a sweep looks into no folder but its user's.
func sweepKilled() {
	killed, err := filepath.Glob(filepath.Join(os.TempDir(), stateFolder+"*"))
	if err != nil {
		panic(err) // the pattern is bad
	}
	for _, state := range killed {
		os.Setenv("XDG_CACHE_HOME", state)
		if err := Sweep(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "what a killed run of the tests left stays:", err)
			continue
		}
		for _, folder := range []string{filepath.Join(state, "lockproof", "runs"), filepath.Join(state, "lockproof"), state} {
			os.Remove(folder) // not one of a run that lives: its records are in it
		}
	}
}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == workerArgument {
		if err := client.ServeWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if program := os.Getenv("LOCKPROOF_TEST_HARNESS"); program != "" {
		fmt.Fprintln(os.Stderr, beHarness(program))
		os.Exit(1)
	}
	sweepKilled()
	// The tests keep records of their own.
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
	os.RemoveAll(shared.folder)
	os.Exit(code)
}

// shared is what all tests use: a project is dear.
var shared struct {
	once     sync.Once
	folder   string
	program  string // lockproof, as it runs in containers
	projects *Projects
	err      error
}

// available is asked once: an engine that answers nothing takes its time.
var available = sync.OnceValue(func() error {
	_, err := Find(context.Background())
	return err
})

// open gives the projects of the tests, and skips a test where there is no
// engine, or one that can get no image.
func open(t testing.TB) *Projects {
	t.Helper()
	needs.Check(t, needs.Engine, available())
	shared.once.Do(func() {
		if shared.err = buildProgram(); shared.err == nil {
			shared.projects, shared.err = Open(context.Background(), cluster.Choice{}, shared.program, os.Stderr)
		}
	})
	var lack *cluster.Unsupported
	if errors.As(shared.err, &lack) {
		needs.Check(t, needs.Image, lack)
	}
	require.NoError(t, shared.err)
	needs.Check(t, needs.Engine, networked())
	return shared.projects
}

// networked says whether the engine can make a network: one that may not set up
// the host's has images all the same, and brings no project up.
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

func buildProgram() error {
	folder, err := os.MkdirTemp("", "docker-test-")
	if err != nil {
		return err
	}
	shared.folder, shared.program = folder, filepath.Join(folder, "lockproof")
	build := exec.Command("go", "build", "-o", shared.program, "example.org/lockproof/cmd/lockproof")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOCACHE="+goCache())
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// goCache is the cache of builds: it lies below XDG_CACHE_HOME unless it is named.
func goCache() string {
	cmd := exec.Command("go", "env", "GOCACHE")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME=")
	out, _ := cmd.Output()
	return string(bytes.TrimSpace(out))
}

// start makes a cluster of n1..nN and clients c1, c2; change may change its
// configuration.
func start(t testing.TB, nodes int, change func(*cluster.Config)) *Cluster {
	t.Helper()
	projects := open(t)
	c, err := New(t.Context(), clustertest.Config(nodes, change), projects)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// dial is a client of a server.
func dial(t testing.TB, addr string) *redis.Client {
	return clustertest.Dial(t, addr, realcluster.Password())
}

// over is a client over a link.
func over(t testing.TB, c *Cluster, client, node string) *redis.Client {
	t.Helper()
	return dial(t, c.Address(client, node))
}

// within is a context for what has to be quick.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
