//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/reports"
)

// A program that dies ends with a code that no verdict has: a signal's, or Go's own 2.
func TestSignal_IsNoVerdict(t *testing.T) {
	binary := build(t)
	for name, c := range map[string]struct {
		signal syscall.Signal
		code   int // -1: ended by the signal
	}{
		"a crash":          {syscall.SIGABRT, 2},
		"a kill":           {syscall.SIGKILL, -1},
		"an interrupt":     {syscall.SIGINT, reports.ExitInconclusive},
		"the end of a job": {syscall.SIGTERM, reports.ExitInconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			cmd := start(t, exec.Command(binary, "run", "healthy-contention", "--trials", "10000", "--out", out))
			require.Eventually(t, func() bool {
				lines, _ := os.ReadFile(filepath.Join(out, "progress.jsonl"))
				return bytes.Count(lines, []byte("\n")) > 2
			}, time.Minute, 10*time.Millisecond, "no trial has been run")
			require.NoError(t, cmd.Process.Signal(c.signal))
			if c.code == reports.ExitInconclusive { // as timeout(1) does, to the process and to its group
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
			said, code := cmd.end(t)
			require.Equal(t, c.code, code, "%.2000s", said)
		})
	}
}
