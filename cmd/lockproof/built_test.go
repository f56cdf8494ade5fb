package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/docker"
	"example.org/lockproof/internal/needs"
)

// sharedFolder is for files that many tests need and none changes.
var sharedFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	if sharedFolder != "" {
		if err := removeImage(); err != nil {
			fmt.Fprintln(os.Stderr, "the tests' image stays:", err)
		}
		os.RemoveAll(sharedFolder)
	}
	os.Exit(code)
}

// built is the program, built to run in containers too.
var built = sync.OnceValues(func() (binary string, err error) {
	if sharedFolder, err = os.MkdirTemp("", "lockproof-test-"); err != nil {
		return "", err
	}
	binary = filepath.Join(sharedFolder, "lockproof")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return binary, nil
})

func build(t *testing.T) string {
	t.Helper()
	needs.Long(t, "it starts the program")
	binary, err := built()
	require.NoError(t, err)
	return binary
}

// read returns a file's contents.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// started is a running program with its output.
type started struct {
	*exec.Cmd
	said bytes.Buffer
}

// start starts a program, and kills it at the end of the test.
func start(t *testing.T, cmd *exec.Cmd) *started {
	t.Helper()
	s := &started{Cmd: cmd}
	if cmd.Stdout == nil {
		cmd.Stdout, cmd.Stderr = &s.said, &s.said
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return s
}

// end waits for a program's end and returns its output and exit code, -1 after a signal.
func (s *started) end(t *testing.T) (said string, code int) {
	t.Helper()
	var ended *exec.ExitError
	if err := s.Wait(); !errors.As(err, &ended) {
		require.NoError(t, err)
	}
	return s.said.String(), s.ProcessState.ExitCode()
}

// inFolder runs lockproof in a folder.
func inFolder(t *testing.T, dir string) func(args ...string) (said string, code int) {
	binary := build(t)
	return func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		return start(t, cmd).end(t)
	}
}

// imageHome is the home of the image that these tests use. It differs from their own homes, so
// that their clean commands do not remove it.
func imageHome() string { return filepath.Join(sharedFolder, "home") }

// made builds the image, which takes a minute or two.
var made = sync.OnceValue(func() error {
	before, was := os.LookupEnv("XDG_CACHE_HOME")
	os.Setenv("XDG_CACHE_HOME", imageHome())
	defer func() {
		if os.Unsetenv("XDG_CACHE_HOME"); was {
			os.Setenv("XDG_CACHE_HOME", before)
		}
	}()
	projects, err := docker.Open(context.Background(), cluster.Choice{}, io.Discard)
	if err != nil {
		return err
	}
	return projects.Close()
})

// needImage skips a test if the engine cannot get an image for a run.
func needImage(t *testing.T) {
	t.Helper()
	err := made()
	var lack *cluster.Unsupported
	if errors.As(err, &lack) {
		needs.Check(t, needs.Image, lack)
	}
	require.NoError(t, err)
}

// removeImage removes the image, if a test used it.
func removeImage() error {
	if _, err := os.Stat(imageHome()); err != nil {
		return nil
	}
	clean := exec.Command(filepath.Join(sharedFolder, "lockproof"), "clean")
	clean.Env = append(os.Environ(), "XDG_CACHE_HOME="+imageHome())
	if said, err := clean.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}
