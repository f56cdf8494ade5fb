//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/needs"
)

// The bounds of a command with a hostile file.
const (
	hostileCPU    = 5 * time.Second // processor time, as the machine may be busy
	hostileMemory = 512 << 20       // peak, bytes
	hostileWall   = 2 * time.Minute // a command that takes longer hangs
)

// sparse makes a file of a size that begins with a text; the rest takes no
// space.
func sparse(t *testing.T, name, text string, size int64) string {
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	require.NoError(t, os.Truncate(name, size))
	return name
}

// hostileFiles makes files that an attacker may send, or a user may name by
// mistake, by description.
func hostileFiles(t *testing.T, dir string) map[string]string {
	in := func(name string) string { return filepath.Join(dir, name) }
	text := func(name, text string) string {
		require.NoError(t, os.WriteFile(in(name), []byte(text), 0o600))
		return in(name)
	}
	require.NoError(t, syscall.Mkfifo(in("pipe"), 0o600))
	require.NoError(t, os.Mkdir(in("folder"), 0o700))
	require.NoError(t, os.Symlink(in("loop"), in("loop")))
	socket, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	defer syscall.Close(socket)
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrUnix{Name: in("socket")}))
	var aliases, merges strings.Builder
	for i := range 30 {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10*min(i, 1)))
		fmt.Fprintf(&merges, "a%d: &a%d {k%d: v%s}\n", i, i, i, strings.Repeat(fmt.Sprintf(", <<: *a%d", i-1), 2*min(i, 1)))
	}
	return map[string]string{
		"named pipe": in("pipe"), "folder": in("folder"), "socket": in("socket"), "endless device": "/dev/zero",
		"missing":        in("missing"),
		"link to itself": in("loop"), "name too long": in(strings.Repeat("x", 300)),
		"name with escapes":  in("\x1b[31m\u202e\r"),
		"one line of 1 GB":   sparse(t, in("line"), "{", 1<<30),
		"text, then 1 GB":    sparse(t, in("sparse"), "name: x\n", 1<<30),
		"empty":              text("empty", ""),
		"binary":             text("binary", "\x7fELF\x02\x01\x01\x00\x00\xff\xfe"),
		"zero bytes":         text("zero", "name: \x00\nappendonly \x00\n"),
		"not UTF-8":          text("latin", "name: caf\xe9\nx \xff\n[x\xff]"),
		"control characters": text("escapes", "\x1b]0;owned\a\x1b[2J \"\x1b[31m\r\u202e: {\n"),
		"deep nesting":       text("deep", strings.Repeat("[", 200_000)),
		"deep JSON":          text("json", strings.Repeat(`{"a":`, 200_000)),
		"empty lines":        text("blank", "name: |\n"+strings.Repeat("\n", 200_000)+"%"),
		"many keys":          text("keys", strings.Repeat("a: b\n", 200_000)),
		"alias bomb":         text("aliases", "services: {}\n"+aliases.String()),
		"merge-key bomb":     text("merges", "services: {}\n"+merges.String()),
		"huge numbers": text("numbers", "name: x\nttl: 99999999999999999999999h\nnodes: 1e999\nsave "+
			"99999999999999999999 1\n"),
	}
}

// exponentialIncludes makes a redis.conf with 2^40 includes in 40 files.
func exponentialIncludes(t *testing.T) string {
	dir := t.TempDir()
	for i := range 40 {
		text := strings.Repeat(fmt.Sprintf("include %d.conf\n", i+1), 2)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.conf", i)), []byte(text), 0o600))
	}
	return filepath.Join(dir, "0.conf")
}

func pipeAsDropIn(t *testing.T) string {
	unit := filepath.Join(t.TempDir(), "redis.service")
	require.NoError(t, os.WriteFile(unit, []byte("[Service]\nRestart=always\n"), 0o600))
	require.NoError(t, os.Mkdir(unit+".d", 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(unit+".d", "a.conf"), 0o600))
	return unit
}

// ended is the result of a command.
type ended struct {
	code   int
	output string
	cpu    time.Duration
	peak   int64 // bytes
}

// runBinary runs the real program, to measure its own peak.
func runBinary(t *testing.T, binary string, args ...string) ended {
	ctx, cancel := context.WithTimeout(context.Background(), hostileWall)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = t.TempDir()
	output, code := start(t, cmd).end(t)
	require.NoError(t, ctx.Err(), "%q hangs", args)
	state := cmd.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return ended{code, output, state.UserTime() + state.SystemTime(), usage.Maxrss << 10}
}

// Every command that reads a file ends soon, in little memory, with the exit
// code for a bad file, and names the file.
func TestHostileFiles(t *testing.T) {
	needs.Long(t, "it runs every command on every hostile file")
	binary := build(t)
	files := hostileFiles(t, t.TempDir())
	try := func(t *testing.T, file string, args ...string) {
		got := runBinary(t, binary, args...)
		told := got.output[:min(len(got.output), 2000)]
		require.Equal(t, exitUsage, got.code, "%q: %s", args, told)
		require.Less(t, got.cpu, hostileCPU, "%q", args)
		require.Less(t, got.peak, int64(hostileMemory), "%q", args)
		require.Contains(t, got.output, strings.Trim(filepath.Base(file), "\x1b\r\u202e"), "%q", args)
		require.Less(t, len(got.output), 64<<10, "%q", args)
		require.False(t, strings.ContainsFunc(got.output,
			func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) }), "%q: %q", args, told)
	}
	for _, what := range slices.Sorted(maps.Keys(files)) {
		file := files[what]
		for _, command := range [][]string{{"run"}, {"show"}, {"check"}, {"validate", "--config"}, {"validate"}} {
			if name := strings.Join(command, " "); name != "validate --config" || what != "empty" { // empty is valid
				t.Run(name+" "+what, func(t *testing.T) { try(t, file, append(command, file)...) })
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(files)) {
		file := files[what]
		if what == "folder" || strings.HasPrefix(what, "name ") {
			continue
		}
		t.Run("results "+what, func(t *testing.T) {
			run := t.TempDir()
			require.NoError(t, os.Symlink(file, filepath.Join(run, "results.json")))
			for _, command := range [][]string{{"merge"}, {"compare", run}} {
				try(t, filepath.Join(run, "results.json"), append(command, run)...)
			}
		})
	}
	for what, command := range map[string][]string{
		"includes that double":   {"validate", "--config", exponentialIncludes(t)},
		"drop-in that is a pipe": {"validate", pipeAsDropIn(t)},
	} {
		t.Run(what, func(t *testing.T) { try(t, "", command...) })
	}
}
