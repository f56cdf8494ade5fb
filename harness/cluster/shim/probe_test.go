package shim

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	source "example.org/lockproof/compose/shim"
	"example.org/lockproof/internal/needs"
)

// built compiles the shim and the probe, once for all tests.
var built = sync.OnceValues(func() (b struct{ shim, probe string }, err error) {
	dir, err := os.MkdirTemp("", "shim-test-")
	if err != nil {
		return b, err
	}
	if b.shim, err = Build(dir); err != nil {
		return b, err
	}
	if err := os.WriteFile(filepath.Join(dir, "control.h"), source.Header, 0o600); err != nil {
		return b, err
	}
	cc, err := Compiler()
	if err != nil {
		return b, err
	}
	b.probe = filepath.Join(dir, "probe")
	out, err := exec.Command(cc, "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-I", dir,
		"-o", b.probe, filepath.Join("testdata", "probe.c")).CombinedOutput()
	if err != nil {
		return b, fmt.Errorf("%w: %s", err, out)
	}
	return b, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if b, err := built(); err == nil {
		os.RemoveAll(filepath.Dir(b.shim))
	}
	os.Exit(code)
}

// probe is a program that runs under the shim, with its control.
type probe struct {
	*Control
	t   require.TestingT
	pid int
	in  io.Writer
	out *bufio.Reader
}

// needShim skips a test if the shim cannot be built, or LD_PRELOAD cannot name it.
func needShim(t testing.TB) {
	t.Helper()
	_, err := Compiler()
	needs.Check(t, needs.Compiler, err)
	needs.PlainTemp(t)
}

func newProbe(t testing.TB) *probe {
	t.Helper()
	needShim(t)
	b, err := built()
	require.NoError(t, err)
	control, err := Create(filepath.Join(t.TempDir(), "control"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })

	cmd := exec.Command(b.probe)
	cmd.Env = append(os.Environ(), control.Environment(b.shim)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, cmd.Wait())
	})
	return &probe{Control: control, t: t, pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
}

// do sends the probe a line and returns its answer.
func (p *probe) do(words ...any) string {
	_, err := io.WriteString(p.in, fmt.Sprintln(words...))
	require.NoError(p.t, err)
	answer, err := p.out.ReadString('\n')
	require.NoError(p.t, err)
	return strings.TrimSpace(answer)
}

func (p *probe) numbers(answer string) []int64 {
	var all []int64
	for _, word := range strings.Fields(answer) {
		var n int64
		_, err := fmt.Sscan(word, &n)
		require.NoError(p.t, err, answer)
		all = append(all, n)
	}
	return all
}
