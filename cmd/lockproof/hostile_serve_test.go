//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
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

// serving is a server of hostile folders.
type serving struct {
	cmd  *exec.Cmd
	url  string
	said *bytes.Buffer
}

func startServing(t *testing.T, binary, dir string) *serving {
	ctx, cancel := context.WithTimeout(context.Background(), hostileWall)
	t.Cleanup(cancel)
	s := &serving{cmd: exec.CommandContext(ctx, binary, "serve", dir, "--addr", "127.0.0.1:0"), said: &bytes.Buffer{}}
	out, err := s.cmd.StdoutPipe()
	require.NoError(t, err)
	s.cmd.Stderr = s.said
	require.NoError(t, s.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err, s.said)
	s.url = regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	require.NotEmpty(t, s.url, line)
	return s
}

// get asks for one page, and waits for its beginning: one never ends.
func (s *serving) get(t *testing.T, page string) (status int) {
	ctx, cancel := context.WithTimeout(t.Context(), hostileWall)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+page, nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err, "%s: %s", page, s.said)
	defer res.Body.Close()
	if _, err = io.CopyN(io.Discard, res.Body, 1); err != io.EOF { // it may be empty
		require.NoError(t, err, page)
	}
	return res.StatusCode
}

// A server answers whatever is in the folders below it, and goes on.
func TestServeOfHostileFiles(t *testing.T) {
	needs.Long(t, "it serves every hostile file")
	binary := build(t)
	files := hostileFiles(t, t.TempDir())
	maps.Copy(files, hostileRuns(t, t.TempDir()))
	maps.DeleteFunc(files, func(what, _ string) bool { return what == "missing" || strings.HasPrefix(what, "name ") })
	table := tabwriter.NewWriter(t.Output(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "serve, a folder with\tstatus\tCPU\tpeak")
	for _, what := range slices.Sorted(maps.Keys(files)) {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{reports.ResultsFile, reports.ProgressFile, "trials/a/000/history.jsonl", reports.PageFile} {
				at := filepath.Join(dir, reports.ResultsFile, name)
				if name == reports.ProgressFile { // which comes before results
					at = filepath.Join(dir, name, name)
				}
				require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
				if os.Link(files[what], at) != nil { // a folder, or on another file system
					require.NoError(t, os.Symlink(files[what], at))
				}
			}
			s := startServing(t, binary, dir)
			for _, page := range []string{
				"/",
				"/files/results.json/results.json", "/files/progress.jsonl/progress.jsonl",
				"/files/results.json/trials/a/000/history.jsonl",
				"/files/../../etc/passwd", "/lab", "/lab/flushall", "/assets/serve.css", "/",
			} {
				require.Less(t, s.get(t, page), http.StatusInternalServerError, page)
			}
			require.NoError(t, s.cmd.Process.Signal(syscall.SIGINT))
			_ = s.cmd.Wait() // an interrupt has an exit code of its own
			got := ended{s.cmd.ProcessState.ExitCode(), s.said.String(), s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime(),
				s.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10}
			fmt.Fprintf(table, "%s\t%d\t%.2f s\t%d MB\n", what, got.code, got.cpu.Seconds(), got.peak>>20)
			require.Contains(t, []int{0, exitInterrupted}, got.code, got.output)
			require.Less(t, got.cpu, hostileCPU*2, "of all pages")
			require.Less(t, got.peak, int64(hostileMemory))
		})
	}
	require.NoError(t, table.Flush())
}
