package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever ends the program from outside, the exit code is none of a verdict.
func TestASignalIsNoVerdict(t *testing.T) {
	binary := build(t)
	for name, c := range map[string]struct {
		signal    syscall.Signal
		toProgram bool // and not to the overseer
		code      int
	}{
		"a crash":                 {syscall.SIGABRT, false, exitFailed},
		"a stack trace asked for": {syscall.SIGQUIT, false, exitFailed},
		"a crash of the program":  {syscall.SIGSEGV, true, exitFailed},
		"the program is killed":   {syscall.SIGKILL, true, exitFailed},
		"an interrupt":            {syscall.SIGINT, false, 2},
		"the end of a job":        {syscall.SIGTERM, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			cmd := exec.Command(binary, "run", "healthy-contention", "--trials", "10000", "--out", out)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			require.NoError(t, cmd.Start())
			require.Eventually(t, func() bool {
				lines, _ := os.ReadFile(filepath.Join(out, "progress.jsonl"))
				return bytes.Count(lines, []byte("\n")) > 2
			}, time.Minute, 10*time.Millisecond, "no trial has been run")
			target := cmd.Process.Pid
			if c.toProgram {
				target = childOf(t, target)
			}
			require.NoError(t, syscall.Kill(target, c.signal))
			var ended *exec.ExitError
			require.True(t, errors.As(cmd.Wait(), &ended))
			require.Equal(t, c.code, ended.ExitCode(), "%.2000s", said.String())
			if c.code == exitFailed {
				require.Contains(t, said.String(), "ended unexpectedly")
			}
		})
	}
}

// childOf finds the only child of a process.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err, "%q", text)
	return child
}
