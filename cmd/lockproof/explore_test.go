//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/explore"
)

func TestExploreRefusesWhatItCannotDo(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--lock", "redsnc"}, "--lock redsnc: there is no such lock: did you mean redsync?"},
		{[]string{"--lock", "single"}, "--lock single: it uses one node, and schedules are drawn for locks on several"},
		{[]string{"--lock", "redsync", "--without", "Majority"}, "redsync has no rules to switch off"},
		{[]string{"--break", "memmory"}, `--break there is no assumption "memmory": there are memory, clocks, pauses, servers`},
		{[]string{"--property", "mutual"}, "--property mutual: there is no such property: did you mean mutual-exclusion?"},
		{[]string{"--for", "0"}, "--for 0 without --schedules would never end"},
		{[]string{"--slice", "3/2", "--schedules", "9"}, "--slice 3/2"},
		{[]string{"--slice", "1/2"}, "--slice 1/2 needs --schedules"},
		{[]string{"--enough", "-1"}, "a bound below 0"},
		{[]string{"flushall"}, "unknown command"},
	} {
		got := fake(expected).try(append([]string{"explore"}, c.args...)...)
		require.Equal(t, exitUsage, got.code, "%v: %s", c.args, got.err)
		require.Contains(t, got.err, c.want)
	}
}

// What is found is told with its story, and is in a file that shows it again.
func TestExploreFindsAndRepeats(t *testing.T) {
	binary, dir := build(t), t.TempDir()
	lockproof := func(args ...string) (string, int) {
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		said, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		if errors.As(err, &ended) {
			return string(said), ended.ExitCode()
		}
		require.NoError(t, err)
		return string(said), 0
	}
	said, code := lockproof("explore", "--without", "CompareAndDelete", "--property", "mutual-exclusion", "--schedules", "256", "--enough", "1")
	require.Equal(t, 1, code, said)
	require.Contains(t, said, "blame: CompareAndDelete")
	found, err := filepath.Glob(filepath.Join(dir, "out", "found", "*.yaml"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.FileExists(t, filepath.Join(dir, "out", explore.ResultsFile))
	require.FileExists(t, filepath.Join(dir, "out", "report.html"))

	again, code := lockproof("run", found[0], "--seed", "1", "--out", "again")
	require.Contains(t, again, "as expected", "with the rule on, and off as its variant says")
	require.Equal(t, 0, code, again)

	said, code = lockproof("explore", "--schedules", "64", "--out", "none", "--property", "mutual-exclusion")
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "violated in 0 of the")
}

func TestAnInterruptedSearchKeepsWhatItHas(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command(build(t), "explore", "--for", "10m", "--out", out)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(out); return err == nil }, time.Minute, 10*time.Millisecond)
	time.Sleep(2 * time.Second)
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var ended *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &ended)
	require.Equal(t, 2, ended.ExitCode(), said.String())
	require.FileExists(t, filepath.Join(out, explore.ResultsFile))
	require.Contains(t, said.String(), "schedules in")
}
