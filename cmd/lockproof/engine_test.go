//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// A run names the remedy, and exits with 3.
func TestDocker_UnusableEngine_NamesTheRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		engine func(t *testing.T) string // returns DOCKER_HOST
		path   string
		want   []string
	}{
		"absent": {func(t *testing.T) string { return "unix://" + filepath.Join(shortFolder(t), "none.sock") },
			os.Getenv("PATH"),
			[]string{"no engine answers at unix://", "install Docker", "and start it"}},
		"too old": {func(t *testing.T) string { return oldEngine(t, "1.40") }, os.Getenv("PATH"),
			[]string{"the engine is too old: its API is 1.40", "install Docker Engine 20.10 or later, whose API is 1.41"}},
		"DOCKER_HOST is wrong": {func(*testing.T) string { return "nonsense" }, os.Getenv("PATH"),
			[]string{"unable to parse docker host `nonsense`", "correct DOCKER_HOST"}},
		"no Compose": {func(t *testing.T) string { return oldEngine(t, "1.41") }, "/nowhere",
			[]string{"neither `docker compose` nor `docker-compose` works", "install Compose"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", c.engine(t))
			t.Setenv("PATH", c.path)
			p := fake(nil)
			p.suite = suite.Run
			got := p.try("run", "flushall", "--on", "docker", "--out", filepath.Join(t.TempDir(), "out"))
			require.Equal(t, exitFailed, got.code)
			for _, want := range append(c.want, "the docker cluster cannot do any run: ") {
				require.Contains(t, got.err, want)
			}
			require.Equal(t, 1, strings.Count(got.err, "\n"), "one line says it: %s", got.err)
		})
	}
}

// shortFolder is a folder with a short name: a socket's name has at most a
// hundred characters.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "engine-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o755))
	return folder
}

// listen listens on a socket in place of the engine's.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(shortFolder(t), "docker.sock"))
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

// oldEngine replies only to requests for its API version.
func oldEngine(t *testing.T, version string) string {
	ln := listen(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("API-Version", version)
		w.Header().Set("OSType", "linux")
		io.WriteString(w, "OK")
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(ln) }()
	t.Cleanup(func() { server.Close() })
	return "unix://" + ln.Addr().String()
}

// engineAvailable checks once: a hung engine takes long to fail.
var engineAvailable = sync.OnceValue(func() error {
	_, err := docker.Find(context.Background())
	return err
})

// The run reports it and ends. Once the engine is back, clean removes the rest.
func TestDocker_EngineDiesDuringRun_FailsAndCleanRemovesTheRest(t *testing.T) {
	needs.Check(t, needs.Engine, engineAvailable())
	_, err := exec.LookPath("docker") // the client, for the test itself
	needs.Check(t, needs.Engine, err)
	binary := build(t)
	v := victim{binary: binary, home: t.TempDir(), temp: t.TempDir(), out: filepath.Join(t.TempDir(), "out")}
	needImage(t)
	r := newRelay(t)
	clean := func() string {
		cmd := v.command("clean")
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
		said, code := start(t, cmd).end(t)
		require.Zero(t, code, said)
		return said
	}
	t.Cleanup(func() { clean() }) // also of a test that fails
	cmd := v.command("run", "healthy-contention", "--on", "docker", "--parallel", "1", "--trials", "20", "--out", v.out)
	cmd.Env = append(cmd.Env, "DOCKER_HOST=unix://"+r.Addr().String())
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() // of a test that fails
	require.Eventually(t, func() bool {
		histories, _ := filepath.Glob(filepath.Join(v.out, "trials", "*", "*", "history.jsonl"))
		for _, file := range histories {
			if text, _ := os.ReadFile(file); strings.Contains(string(text), `"type":"ok"`) {
				return true
			}
		}
		return len(ended) > 0
	}, 5*time.Minute, 50*time.Millisecond, "no client has got a lock")
	require.Empty(t, ended, "it ended before the engine died: %s", said.String())
	r.cut()
	select {
	case <-ended:
	case <-time.After(3 * time.Minute):
		require.NoError(t, cmd.Process.Kill())
		require.Fail(t, "the run does not end", "%s", said.String())
	}
	require.Equal(t, reports.ExitFailed, cmd.ProcessState.ExitCode(), "%s", said.String())
	text := strings.Join(strings.Fields(said.String()), " ")
	require.Contains(t, text, "the docker cluster is lost: the engine at unix://")
	require.Contains(t, text, "run `lockproof clean`")
	require.Contains(t, text, "were not run")
	require.FileExists(t, filepath.Join(v.out, "results.json"))
	require.NotEmpty(t, ours(t, v), "nothing was left that could be removed: this shows nothing")

	require.Contains(t, clean(), "removed the compose project "+process.FolderPrefix)
	require.Empty(t, ours(t, v))
	require.Empty(t, v.left(t))
}
