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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/harness/cluster/process"
	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// TestAnEngineThatCannotBeUsed: whatever is wrong with it, a run says what to do,
// exits with 3, and leaves nothing behind.
func TestAnEngineThatCannotBeUsed(t *testing.T) {
	needs.Commands(t, "cp")
	binary := build(t)
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	for _, c := range []struct {
		name   string
		engine func(t *testing.T) string // gives DOCKER_HOST
		path   string                    // "": as it is
		as     *syscall.SysProcAttr
		want   []string
	}{
		{name: "absent", engine: func(t *testing.T) string { return "unix://" + filepath.Join(shortFolder(t), "none.sock") },
			want: []string{"no engine answers at unix://", "install Docker", "and start it"}},
		{name: "no permission", engine: closedSocket, as: nobody,
			want: []string{"this user may not use the engine at unix://", "add the user to the group docker"}},
		{name: "too old", engine: func(t *testing.T) string { return oldEngine(t, "1.40") },
			want: []string{"the engine is too old: its API is 1.40", "install Docker Engine 20.10 or later, whose API is 1.41"}},
		{name: "DOCKER_HOST is wrong", engine: func(*testing.T) string { return "nonsense" },
			want: []string{"unable to parse docker host `nonsense`", "correct DOCKER_HOST"}},
		{name: "no Compose", engine: func(t *testing.T) string { return oldEngine(t, "1.41") }, path: "/nowhere",
			want: []string{"neither `docker compose` nor `docker-compose` works", "install Compose"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.as != nil {
				needs.RootUser(t)
			}
			folder := shortFolder(t)
			require.NoError(t, os.Chmod(folder, 0o777))
			program := filepath.Join(folder, "lockproof") // where any user can reach it
			require.NoError(t, exec.Command("cp", binary, program).Run())
			v := victim{binary: program, home: filepath.Join(folder, "home"), temp: filepath.Join(folder, "temp"),
				out: filepath.Join(folder, "out")}
			for _, dir := range []string{v.home, v.temp} {
				require.NoError(t, os.Mkdir(dir, 0o777))
				require.NoError(t, os.Chmod(dir, 0o777))
			}
			cmd := v.command("run", "flushall", "--on", "docker", "--out", v.out)
			cmd.Dir, cmd.SysProcAttr = folder, c.as
			cmd.Env = append(cmd.Env, "DOCKER_HOST="+c.engine(t))
			if c.path != "" {
				cmd.Env = append(cmd.Env, "PATH="+c.path)
			}
			var said strings.Builder
			cmd.Stderr = &said
			require.Error(t, cmd.Run())
			require.Equal(t, exitFailed, cmd.ProcessState.ExitCode(), said.String())
			for _, want := range append(c.want, "the docker cluster cannot do any run: ") {
				require.Contains(t, said.String(), want)
			}
			require.Equal(t, 1, strings.Count(said.String(), "\n"), "one line says it: %s", said.String())
			require.Empty(t, v.left(t))
		})
	}
}

// shortFolder is a folder whose name fits into a socket's, which has a hundred
// characters.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "engine-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o755))
	return folder
}

// listen waits on a socket for those who take it for the engine's.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("unix", filepath.Join(shortFolder(t), "docker.sock"))
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

// closedSocket is an engine for root alone.
func closedSocket(t *testing.T) string {
	ln := listen(t)
	require.NoError(t, os.Chmod(ln.Addr().String(), 0o600))
	return "unix://" + ln.Addr().String()
}

// oldEngine answers as an engine that speaks a version of the API, and no other
// question than that.
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

// engineAvailable is asked once: an engine that answers nothing takes its time.
var engineAvailable = sync.OnceValue(func() error {
	_, err := docker.Find(context.Background())
	return err
})

// TestAnEngineThatDiesInMidRun: the run says so, and does not go on; and once there
// is an engine again, a clean removes what the run could not.
func TestAnEngineThatDiesInMidRun(t *testing.T) {
	needs.Check(t, needs.Engine, engineAvailable())
	_, err := exec.LookPath("docker") // the client, with which the test looks around
	needs.Check(t, needs.Engine, err)
	binary := build(t)
	v := victim{binary: binary, home: t.TempDir(), temp: t.TempDir(), out: filepath.Join(t.TempDir(), "out")}
	needImage(t)
	others := newBystanders(t, binary)
	r := newRelay(t)
	clean := func() string {
		cmd := v.command("clean")
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	t.Cleanup(func() { clean() }) // also of a test that fails
	cmd := v.command("run", "healthy-contention", "--on", "docker", "--trials", "20", "--out", v.out)
	cmd.Env = append(cmd.Env, "DOCKER_HOST=unix://"+r.Addr().String())
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
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
	others.unharmed(t)
}

// TestNothingOutlivesAKilledRunOnDocker kills runs while their projects come up and
// while they are up. A run in virtual time removes what they have left.
func TestNothingOutlivesAKilledRunOnDocker(t *testing.T) {
	needs.Long(t, "it kills runs on docker, in real time")
	needs.Check(t, needs.Engine, engineAvailable())
	_, err := exec.LookPath("docker") // the client, with which the test looks around
	needs.Check(t, needs.Engine, err)
	binary := build(t)
	home := t.TempDir()
	v := victim{binary: binary, home: home, temp: t.TempDir()}
	needImage(t)
	others := newBystanders(t, binary)
	onEngine := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
		return cmd
	}
	t.Cleanup(func() { _ = onEngine(v.command("clean")).Run() }) // the image
	up := func(v victim) []string {
		return slices.DeleteFunc(ours(t, v), func(what string) bool { return strings.HasPrefix(what, "image ") })
	}
	histories := 0
	for _, moment := range []func(v victim) bool{
		func(v victim) bool { return len(up(v)) > 0 },
		func(v victim) bool {
			begun, _ := filepath.Glob(filepath.Join(v.out, "trials", "*", "*", "history.jsonl"))
			return len(begun) > 0
		},
	} {
		v := victim{binary: binary, home: home, temp: t.TempDir(), out: filepath.Join(t.TempDir(), "out")}
		cmd := onEngine(v.command("run", "healthy-contention", "--on", "docker", "--trials", "20", "--out", v.out))
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		require.Eventually(t, func() bool { return moment(v) || len(ended) > 0 }, 5*time.Minute, 200*time.Millisecond)
		require.Empty(t, ended, "it ended before it was killed")
		require.NoError(t, cmd.Process.Kill())
		require.EqualError(t, <-ended, "signal: killed")
		require.NotEmpty(t, v.left(t), "it left nothing that could be removed: this shows nothing")

		said, err := onEngine(v.command("run", "flushall", "--out", filepath.Join(filepath.Dir(v.out), "next"))).CombinedOutput()
		require.NoError(t, err, "%s", said)
		require.Empty(t, up(v))
		require.Empty(t, v.left(t))
		require.Eventually(t, func() bool { return len(v.processes(t)) == 0 }, 10*time.Second, 10*time.Millisecond, "%v", v.processes(t))
		histories += v.judge(t)
	}
	require.Positive(t, histories, "no run left a history: this shows nothing")
	others.unharmed(t)
}
