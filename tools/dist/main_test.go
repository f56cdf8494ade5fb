package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArchivesAndTheirChecksums(t *testing.T) {
	t.Chdir("../..") // the licence and the README are there
	out := filepath.Join(t.TempDir(), "dist")
	require.NoError(t, os.MkdirAll(filepath.Join(out, "of another time"), 0o755))
	program := func(system, processor string) ([]byte, error) { return []byte(system + " on " + processor), nil }
	require.NoError(t, dist(out, "v1", []string{"linux/arm64", "windows/amd64"}, program))

	license, err := os.ReadFile("LICENSE")
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Equal(t, map[string]string{
		"lockproof-v1-linux-arm64/LICENSE": string(license), "lockproof-v1-linux-arm64/README.md": string(readme),
		"lockproof-v1-linux-arm64/lockproof": "linux on arm64",
	}, untar(t, filepath.Join(out, "lockproof-v1-linux-arm64.tar.gz")))
	require.Equal(t, map[string]string{
		"lockproof-v1-windows-amd64/LICENSE": string(license), "lockproof-v1-windows-amd64/README.md": string(readme),
		"lockproof-v1-windows-amd64/lockproof.exe": "windows on amd64",
	}, unzip(t, filepath.Join(out, "lockproof-v1-windows-amd64.zip")))

	want := ""
	for _, name := range []string{"lockproof-v1-linux-arm64.tar.gz", "lockproof-v1-windows-amd64.zip"} {
		data, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		want += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
	}
	got, err := os.ReadFile(filepath.Join(out, sums))
	require.NoError(t, err)
	require.Equal(t, want, string(got))
	left, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Len(t, left, 3)
}

func TestDist_BuildFails_Fails(t *testing.T) {
	broken := errors.New("it does not build")
	fail := func(string, string) ([]byte, error) { return nil, broken }
	require.ErrorIs(t, dist(t.TempDir(), "v1", []string{"plan9/amd64"}, fail), broken)
	require.ErrorContains(t, dist(t.TempDir(), "v1", []string{"linux"}, fail), `invalid platform "linux": want SYSTEM`)
}

func untar(t *testing.T, name string) map[string]string {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	compressed, err := gzip.NewReader(f)
	require.NoError(t, err)
	found := map[string]string{}
	r := tar.NewReader(compressed)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		found[h.Name] = string(data)
		require.Equal(t, filepath.Base(h.Name) == "lockproof", h.Mode&0o111 != 0, h.Name)
	}
}

func unzip(t *testing.T, name string) map[string]string {
	t.Helper()
	r, err := zip.OpenReader(name)
	require.NoError(t, err)
	defer r.Close()
	found := map[string]string{}
	for _, f := range r.File {
		content, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(content)
		require.NoError(t, err)
		found[f.Name] = string(data)
	}
	return found
}
