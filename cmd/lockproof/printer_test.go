package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/history"
	"example.org/lockproof/harness/suite"
	"example.org/lockproof/reports"
)

// Results that could not be written are still printed, and the exit code is not 0.
func TestFullDisk_ResultIsPrinted(t *testing.T) {
	for code, gives := range map[int]func(suite.Job, int) suite.Result{
		exitFailed: expected, reports.ExitDiffers: verdict(history.Holds, history.Violated),
	} {
		out := t.TempDir()
		p := fake(gives)
		run := p.suite
		p.suite = func(ctx context.Context, jobs []suite.Job, o suite.Options, observe func(suite.Result)) ([]suite.Result,
			error) {
			require.NoError(t, os.MkdirAll(filepath.Join(out, reports.ResultsFile, "in the way"), 0o755))
			return run(ctx, jobs, o, observe)
		}
		got := p.try("run", "flushall", "--out", out)
		require.Equal(t, code, got.code)
		require.Contains(t, got.out, "1 trial in ")
		require.Contains(t, got.err, "cannot write "+filepath.Join(out, reports.ResultsFile))
	}
}

// With a closed pipe or a full disk as output, the real program runs to its end.
func TestOutput_BrokenPipeOrFullDisk_RunCompletes(t *testing.T) {
	binary := build(t)
	closed := func() *os.File {
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, reader.Close())
		return writer
	}
	outputs := map[string]func() *os.File{"a closed pipe": closed}
	if runtime.GOOS == "linux" {
		outputs["a full device"] = func() *os.File {
			device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			require.NoError(t, err)
			return device
		}
	}
	for name, output := range outputs {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			run := func(args ...string) int {
				to := output()
				defer to.Close()
				cmd := exec.Command(binary, args...)
				cmd.Stdout, cmd.Stderr = to, to
				_, code := start(t, cmd).end(t)
				return code
			}
			require.Equal(t, reports.ExitDiffers,
				run("run", "half-is-not-majority", "flushall", "late-set", "--without", "Majority", "--out", out))
			kept, err := reports.Read(out)
			require.NoError(t, err)
			require.Len(t, kept.Rows, 3)
			require.Equal(t, reports.ExitDiffers, kept.ExitCode())
			require.Equal(t, reports.ExitDiffers, run("check", filepath.Join(out, kept.Rows[0].Trials[0].History)))
			if name == "a closed pipe" {
				require.Zero(t, run("list"), "who has seen enough has no complaint")
			} else {
				require.Equal(t, exitFailed, run("list"))
				require.Equal(t, exitFailed, run("--version"))
				require.Equal(t, exitFailed, run("run", "--help"))
			}
		})
	}
}
