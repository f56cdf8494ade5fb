package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "dist", "the folder to replace")
	version := flag.String("version", "devel", "in the archives' names")
	flag.Parse()
	if err := dist(*out, *version, flag.Args(), build); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// sums is the file of checksums, as sha256sum -c reads it.
const sums = "SHA256SUMS"

// dist makes an archive for each platform; build returns the program for one.
func dist(out, version string, platforms []string, build func(system, processor string) ([]byte, error)) error {
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return err
	}
	var checksums bytes.Buffer
	for _, platform := range platforms {
		system, processor, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("invalid platform %q: want SYSTEM/PROCESSOR, for example linux/amd64", platform)
		}
		program, err := build(system, processor)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		name, archive, err := pack(fmt.Sprintf("lockproof-%s-%s-%s", version, system, processor), system, program)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), archive, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(&checksums, "%x  %s\n", sha256.Sum256(archive), name)
	}
	_, _ = os.Stdout.Write(checksums.Bytes())
	return os.WriteFile(filepath.Join(out, sums), checksums.Bytes(), 0o644)
}

func build(system, processor string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "dist-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "lockproof")
	cmd := exec.Command("go", "build", "-buildvcs=auto", "-trimpath", "-ldflags=-s -w", "-o", file,
		"example.org/lockproof/cmd/lockproof")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	return os.ReadFile(file)
}

type entry struct {
	name string
	mode int64
	data []byte
}

// pack packs a program with its documents in a folder: a zip for Windows, a tar.gz for others.
func pack(folder, system string, program []byte) (name string, archive []byte, err error) {
	var entries []entry
	for _, paper := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(paper)
		if err != nil {
			return "", nil, err
		}
		entries = append(entries, entry{path.Join(folder, paper), 0o644, data})
	}
	if system == "windows" {
		entries = append(entries, entry{path.Join(folder, "lockproof.exe"), 0o755, program})
		archive, err = zipped(entries)
		return folder + ".zip", archive, err
	}
	entries = append(entries, entry{path.Join(folder, "lockproof"), 0o755, program})
	archive, err = tarred(entries)
	return folder + ".tar.gz", archive, err
}

func zipped(entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		f, err := w.Create(e.name)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func tarred(entries []entry) ([]byte, error) {
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data))}); err != nil {
			return nil, err
		}
		if _, err := io.Copy(w, bytes.NewReader(e.data)); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), compressed.Close())
	return out.Bytes(), err
}
