package shim

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	source "example.org/lockproof/compose/shim"
)

// Variable is the environment variable with the path of a server's control file.
const Variable = "LOCKPROOF_SHIM"

// compilers are in order of preference.
var compilers = []string{"cc", "gcc", "clang"}

// Compiler finds a C compiler; the error says how to get one.
func Compiler() (string, error) {
	if runtime.GOOS != "linux" || !slices.Contains([]string{"amd64", "arm64"}, runtime.GOARCH) {
		return "", fmt.Errorf("the preload shim is for 64-bit Linux, and this is %s on %s; use the virtual or the docker "+
			"cluster", runtime.GOOS, runtime.GOARCH)
	}
	for _, name := range compilers {
		if file, err := exec.LookPath(name); err == nil {
			return file, nil
		}
	}
	return "", fmt.Errorf("the preload shim needs a C compiler, and none of %s is in PATH; install gcc (Debian and "+
		"Ubuntu: apt-get install gcc libc6-dev)", strings.Join(compilers, ", "))
}

var flags = []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden"}

// compileTimeout is generous: compilation takes a tenth of a second.
const compileTimeout = time.Minute

// Build compiles the shim into a folder and returns the library's path. It reuses a library compiled from the same
// source. The folder "" means lockproof's folder in the user's cache.
func Build(dir string) (string, error) {
	cc, err := Compiler()
	if err != nil {
		return "", err
	}
	choose := "choose a folder whose path has neither"
	if dir == "" {
		choose = "set XDG_CACHE_HOME to a folder whose path has neither"
		if dir, err = cacheFolder(); err != nil {
			return "", err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	if strings.ContainsAny(dir, " :") {
		return "", fmt.Errorf("LD_PRELOAD cannot name a file in %q: blanks and colons separate its files; %s", dir, choose)
	}
	library := filepath.Join(dir, fmt.Sprintf("shim-%s-%s.so", runtime.GOARCH, fingerprint()))
	if _, err := os.Stat(library); err == nil {
		return library, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("preload shim: %w", err)
	}
	return library, compile(cc, library)
}

func cacheFolder() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("preload shim: no folder to keep it in: %w", err)
	}
	return filepath.Join(cache, "lockproof", "shim"), nil
}

// fingerprint identifies the shim's source and compiler flags.
func fingerprint() string {
	h := sha256.New()
	for _, part := range [][]byte{source.Source, source.Header, []byte(strings.Join(flags, " "))} {
		fmt.Fprintf(h, "%d\n", len(part))
		h.Write(part)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}

// compile builds the library in a temporary folder and renames it into place: another process may compile it too.
func compile(cc, library string) (err error) {
	work, err := os.MkdirTemp(filepath.Dir(library), "build-")
	if err != nil {
		return fmt.Errorf("preload shim: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	for name, text := range map[string][]byte{"shim.c": source.Source, "control.h": source.Header} {
		if err := os.WriteFile(filepath.Join(work, name), text, 0o600); err != nil {
			return fmt.Errorf("preload shim: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), compileTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, cc, append(slices.Clone(flags), "-o", "shim.so", "shim.c", "-ldl")...)
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the preload shim could not be compiled by %s (%v): %s; install gcc and the C library's headers "+
			"(Debian and Ubuntu: apt-get install gcc libc6-dev)", cc, err, strings.TrimSpace(string(out)))
	}
	return os.Rename(filepath.Join(work, "shim.so"), library)
}
