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

// A killed or crashed program ends with a signal, or with Go's exit code 2.
func TestSignal_ExitCodeIsNoVerdict(t *testing.T) {
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
			if c.code == reports.ExitInconclusive { // a copy, as timeout(1) sends it to the group too
				time.Sleep(time.Millisecond)
				_ = cmd.Process.Signal(c.signal)
			}
			said, code := cmd.end(t)
			require.Equal(t, c.code, code, "%.2000s", said)
		})
	}
}
