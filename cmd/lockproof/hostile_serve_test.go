//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// hostileRuns makes files that are good JSON, and too much of it.
func hostileRuns(t *testing.T, dir string) map[string]string {
	text := func(name string, parts ...string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(strings.Join(parts, "")), 0o600))
		return file
	}
	return map[string]string{
		"many short trials": text("short", `{"begun":{"planned":1}}`+"\n", strings.Repeat(`{"trial":{}}`+"\n", 499_999)),
		"trials of many words": text("words", `{"begun":{"planned":1}}`+"\n",
			strings.Repeat(`{"trial":{"why":"`+strings.Repeat("x", 60_000)+`"}}`+"\n", 1_050)),
		"numbers of no run": text("no run", `{"begun":{"planned":-9000000000,"options":{"ttl":-1}}}`+"\n"),
	}
}

// startServing runs the real server of a folder, and gives its address.
func startServing(t *testing.T, dir string, said *bytes.Buffer) (server *exec.Cmd, address string) {
	ctx, cancel := context.WithTimeout(context.Background(), hostileWall)
	t.Cleanup(cancel)
	server = exec.CommandContext(ctx, build(t), "serve", dir, "--addr", "127.0.0.1:0")
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	server.Stderr = said
	require.NoError(t, server.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, said)
	address = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	require.NotEmpty(t, address, line)
	return server, address
}

// requirePage asks for one page, and waits for its beginning: one never ends.
func requirePage(t *testing.T, url string) {
	ctx, cancel := context.WithTimeout(t.Context(), hostileWall)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err, url)
	defer res.Body.Close()
	if _, err = io.CopyN(io.Discard, res.Body, 1); err != io.EOF { // it may be empty
		require.NoError(t, err, url)
	}
	require.Less(t, res.StatusCode, http.StatusInternalServerError, url)
}

// One server answers whatever is in the folders below it, and goes on.
func TestServeOfHostileFiles(t *testing.T) {
	needs.Long(t, "it serves every hostile file")
	files := hostileFiles(t, t.TempDir())
	maps.Copy(files, hostileRuns(t, t.TempDir()))
	maps.DeleteFunc(files, func(what, _ string) bool { return what == "missing" || strings.HasPrefix(what, "name ") })
	root, pages := t.TempDir(), []string{"/"}
	for what, file := range files {
		dir := strings.ReplaceAll(what, " ", "-")
		for _, name := range []string{
			"results.json/results.json", "progress.jsonl/progress.jsonl", // which comes before results
			"results.json/trials/a/000/history.jsonl", "results.json/report.html",
		} {
			at := filepath.Join(root, dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
			if os.Link(file, at) != nil { // a folder, or on another file system
				require.NoError(t, os.Symlink(file, at))
			}
			pages = append(pages, "/files/"+url.PathEscape(dir)+"/"+name)
		}
	}
	var said bytes.Buffer
	server, address := startServing(t, root, &said)
	for _, page := range append(pages, "/files/../../etc/passwd", "/lab", "/lab/flushall", "/assets/serve.css", "/") {
		requirePage(t, address+page)
	}
	require.NoError(t, server.Process.Signal(syscall.SIGINT))
	_ = server.Wait() // an interrupt has an exit code of its own
	state := server.ProcessState
	cpu, peak := state.UserTime()+state.SystemTime(), state.SysUsage().(*syscall.Rusage).Maxrss<<10
	t.Logf("%d folders: %s of processor time, %d MB", len(files), cpu, peak>>20)
	require.Contains(t, []int{0, exitInterrupted}, state.ExitCode(), said.String())
	require.Less(t, cpu, hostileCPU*2, "of all pages")
	require.Less(t, peak, int64(hostileMemory))
}
