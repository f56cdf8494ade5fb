//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
	"example.org/lockproof/reports"
)

// fakeGo puts a go of another release into PATH, which prints its arguments.
func fakeGo(t *testing.T, goroot, flags, end string) {
	t.Helper()
	needs.Commands(t, "sh")
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = env ]; then echo "+
		"'{\"GOROOT\":%q,\"GOVERSION\":\"go9.99\",\"GOFLAGS\":%q}'; exit; fi\necho \"go $*\"\n%s\n",
		goroot, flags, end)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go"), []byte(script), 0o755))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
}

// installedGo is Go's folder, found before a test changes PATH.
var installedGo = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

func TestGoTest_AddsTheOverlayToTheArguments(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("folder", 0o755))
	fakeGo(t, installedGo(), "", "case $PWD in */folder) echo folder;; esac")
	for want, args := range map[string][]string{
		"go test -overlay=FILE -run TestX -v ./... -args -overlay": {"test", "-run", "TestX", "-v", "./...", "-args",
			"-overlay"},
		"go test -overlay=FILE .\nfolder": {"test", "-C", "folder", "."},
		"go test -overlay=FILE\nfolder":   {"test", "-C=folder"},
		"go test -overlay=FILE":           {"test"},
	} {
		done := fake(nil).try(args...)
		require.Equal(t, 0, done.code, done.err)
		require.Regexp(t, "^"+strings.Replace(want, "FILE", `\S+overlay.json`, 1)+"\n$", done.out)
		require.Empty(t, done.err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left behind")
}

func TestGoTest_UnknownRelease_RunsPlainGoTestUnlessRepeatable(t *testing.T) {
	fakeGo(t, t.TempDir(), "", "")
	done := fake(nil).try("test", "./...")
	require.Equal(t, 0, done.code)
	require.Equal(t, "go test ./...\n", done.out)
	require.Contains(t, done.err, "lockproof: go9.99: no overlay for this release of Go: net/dial.go does not have once")
	require.Contains(t, done.err, "lockproof: running plain go test: locks that dial by themselves do not run in "+
		"virtual time\n")

	done = fake(nil).try("test", "-repeatable", "./...")
	require.NotEqual(t, 0, done.code)
	require.Empty(t, done.out, "no test is run as if it were repeatable")
	require.Contains(t, done.err, "no overlay for this release of Go")
}

func TestGoTest_AnotherOverlay_IsRefused(t *testing.T) {
	fakeGo(t, installedGo(), "-trimpath -overlay=/other", "")
	done := fake(nil).try("test")
	require.Equal(t, exitUsage, done.code)
	require.Contains(t, done.err, "leave out -overlay, in GOFLAGS too")
	fakeGo(t, installedGo(), "", "")
	require.Equal(t, exitUsage, fake(nil).try("test", "-overlay", "file", "./...").code)
	require.Equal(t, exitUsage, fake(nil).try("test", "--overlay=file").code)
}

func TestGoTest_ExitCodes(t *testing.T) {
	for end, want := range map[string]int{"exit 0": 0, "exit 1": reports.ExitDiffers, "exit 2": exitUsage,
		"exit 3": exitFailed, "kill -9 $$": exitFailed} {
		fakeGo(t, installedGo(), "", end)
		done := fake(nil).try("test")
		require.Equal(t, want, done.code, "%s: %s", end, done.err)
	}
	fakeGo(t, installedGo(), "", "sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	require.Equal(t, reports.ExitInconclusive, fake(nil).tryWith(ctx, "", "test").code, "it was cut short")
	t.Setenv("PATH", t.TempDir())
	done := fake(nil).try("test")
	require.Equal(t, exitFailed, done.code)
	require.Contains(t, done.err, `exec: "go": executable file not found`)
}

func TestGoTest_Help(t *testing.T) {
	for _, flag := range []string{"-h", "-help", "--help"} {
		done := fake(nil).try("test", flag)
		require.Equal(t, 0, done.code)
		require.Contains(t, done.out, "lockproof test [-interleave module] [-repeatable] [go test flags] [packages]\n")
	}
}

// The signal reaches lockproof alone, not the whole terminal.
func TestGoTest_Interrupt_EndsTheTests(t *testing.T) {
	binary := build(t)
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module long\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "long_test.go"), []byte(`package long

import (
	"os"
	"strconv"
	"testing"
	"time"
)

func TestLong(*testing.T) {
	_ = os.WriteFile("pid", []byte(strconv.Itoa(os.Getpid())), 0o644)
	time.Sleep(time.Hour)
}
`), 0o644))
	cmd := start(t, exec.Command(binary, "test", "-C", folder, "."))
	var pid int
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(filepath.Join(folder, "pid"))
		_, err := fmt.Sscan(string(text), &pid)
		return err == nil
	}, time.Minute, 10*time.Millisecond, "the test does not run")
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	said, code := cmd.end(t)
	require.Equal(t, reports.ExitInconclusive, code, said)
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, time.Minute, 10*time.Millisecond,
		"the test runs on")
}

func TestInterleaved_RemovesItsFlag(t *testing.T) {
	for _, tt := range []struct{ args, module, rest string }{
		{"-interleave m -v ./...", "m", "-v ./..."},
		{"-v --interleave=m", "m", "-v"},
		{"-v -args -interleave m", "", "-v -args -interleave m"},
	} {
		module, rest, err := interleaved(strings.Fields(tt.args))
		require.NoError(t, err)
		require.Equal(t, tt.module, module)
		require.Equal(t, tt.rest, strings.Join(rest, " "))
	}
	_, _, err := interleaved([]string{"-interleave", "-v"})
	require.ErrorContains(t, err, "-interleave: which module?")
}
