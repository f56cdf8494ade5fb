package overlay_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lockproof/harness/overlay"
	"lockproof/internal/needs"
)

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// TestBuilt_WithTheOverlay runs the tests below in a program that has it.
func TestBuilt_WithTheOverlay(t *testing.T) {
	if overlay.BuiltIn() {
		t.Skip("this is that program")
	}
	needs.Commands(t, "go")
	file, err := overlay.Write(t.TempDir(), goroot(t))
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "test", "-overlay="+file, "-count=1", "-v", "-run", "^TestOverlaid", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, 8, strings.Count(string(out), "\n--- PASS: "), "%s", out)
}

// Another release of Go may have another package net: then there is no overlay, and the error says what it lacks.
func TestWrite_UnknownRelease_SaysWhatItLacks(t *testing.T) {
	files := []string{"net/dial.go", "net/lookup.go", "net/tcpsock_posix.go", "internal/synctest/synctest.go"}
	for _, changed := range files {
		root := t.TempDir()
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(goroot(t), "src", filepath.FromSlash(file)))
			require.NoError(t, err)
			to := filepath.Join(root, "src", filepath.FromSlash(file))
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
			if file == changed {
				text = []byte(strings.ReplaceAll(string(text), "func ", "func /* */ "))
			}
			require.NoError(t, os.WriteFile(to, text, 0o644))
		}
		_, err := overlay.Write(t.TempDir(), root)
		var unknown *overlay.ReleaseError
		require.ErrorAs(t, err, &unknown)
		require.Equal(t, changed, unknown.File)
		require.ErrorContains(t, err, "no overlay for this release of Go: "+changed+" does not have once \"func ")
	}
	_, err := overlay.Write(t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "no overlay for this release of Go", "a file is missing")
}

func TestNewClient_WithoutTheOverlay_IsNil(t *testing.T) {
	if overlay.BuiltIn() {
		t.Skip("the program has it")
	}
	c := overlay.NewClient("c1", 1, nil)
	require.Nil(t, c)
	require.NoError(t, c.Close())
	require.Equal(t, "text", c.Plain("text", nil))
}

// dialled gives connections, and notes which server was dialled.
type dialled struct{ servers []int }

func (d *dialled) dial(_ context.Context, _ string, server int) (net.Conn, error) {
	d.servers = append(d.servers, server)
	near, far := net.Pipe()
	return near, far.Close()
}

// client is one with two servers, in a program that has the overlay.
func client(t *testing.T) (*overlay.Client, *dialled) {
	t.Helper()
	if !overlay.BuiltIn() {
		t.Skip("the program does not have the overlay: TestBuilt_WithTheOverlay runs one that has it")
	}
	d := &dialled{}
	c := overlay.NewClient("c1", 2, d.dial)
	require.NotNil(t, c)
	return c, d
}

func TestOverlaid_EachWayToDialReachesItsServer(t *testing.T) {
	c, d := client(t)
	synctest.Test(t, func(t *testing.T) {
		host, port, err := net.SplitHostPort(c.Address(1))
		require.NoError(t, err)
		ips, err := net.LookupIP(host)
		require.NoError(t, err)
		ways := []func() (net.Conn, error){
			func() (net.Conn, error) { return net.Dial("tcp", c.Address(1)) },
			func() (net.Conn, error) { return net.DialTimeout("tcp4", c.Address(1), time.Second) },
			func() (net.Conn, error) { return new(net.Dialer).DialContext(t.Context(), "tcp", c.Address(1)) },
			func() (net.Conn, error) { return net.Dial("tcp", net.JoinHostPort(ips[0].String(), port)) },
		}
		for i, dial := range ways {
			conn, err := dial()
			require.NoError(t, err, i)
			require.NoError(t, conn.Close())
		}
	})
	require.Equal(t, []int{1, 1, 1, 1}, d.servers)
	require.NoError(t, c.Close())
}

func TestOverlaid_HostsAreEachClientsOwn(t *testing.T) {
	c, d := client(t)
	other, e := client(t)
	require.NotEqual(t, c.Address(0), other.Address(0))
	synctest.Test(t, func(t *testing.T) {
		_, err := net.Dial("tcp", other.Address(0))
		require.NoError(t, err)
	})
	require.Empty(t, d.servers)
	require.Equal(t, []int{0}, e.servers)
}

func TestOverlaid_TheDialersTimeoutHolds(t *testing.T) {
	client(t)
	c := overlay.NewClient("c1", 1, func(ctx context.Context, _ string, _ int) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := net.DialTimeout("tcp", c.Address(0), 7*time.Second)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 7*time.Second, time.Since(began))
	})
}

func TestOverlaid_UnknownHost_IsRefusedAndTold(t *testing.T) {
	client(t)
	overlay.Unknown()
	synctest.Test(t, func(t *testing.T) {
		_, err := net.Dial("tcp", "redis-1:6379")
		require.ErrorContains(t, err, "redis-1:6379: virtual time has no such host, only what env.Server(i).Addr gives")
		_, err = net.LookupIP("elsewhere")
		require.ErrorContains(t, err, "virtual time has no such host")
		_, err = net.Dial("unix", "/run/redis.sock")
		require.ErrorContains(t, err, "virtual time has no such host")
	})
	require.Equal(t, []string{"redis-1:6379", "elsewhere", "/run/redis.sock"}, overlay.Unknown())
	require.Empty(t, overlay.Unknown())
}

func TestOverlaid_AClientThatHasEnded_RefusesConnections(t *testing.T) {
	c, _ := client(t)
	require.NoError(t, c.Close())
	synctest.Test(t, func(t *testing.T) {
		_, err := net.Dial("tcp", c.Address(0))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

// A real socket would go past every fault.
func TestOverlaid_DialTCP_IsRefusedAndTold(t *testing.T) {
	c, _ := client(t)
	synctest.Test(t, func(t *testing.T) {
		to, err := net.ResolveTCPAddr("tcp", c.Address(0))
		require.NoError(t, err)
		_, err = net.DialTCP("tcp", nil, to)
		require.ErrorContains(t, err, "net.DialTCP connects with a real socket: use net.Dial")
		_, err = net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 6379})
		require.ErrorContains(t, err, "virtual time has no such host")
	})
	require.ErrorContains(t, c.Close(), "the lock cannot be in virtual time: net.DialTCP connects with a real socket")
}

func TestOverlaid_OutsideABubble_NothingChanges(t *testing.T) {
	c, _ := client(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	require.IsType(t, &net.TCPConn{}, conn)
	require.NoError(t, conn.Close())
	ips, err := net.LookupIP("localhost")
	require.NoError(t, err)
	require.NotEmpty(t, ips)

	_, err = net.Dial("tcp", c.Address(0))
	require.ErrorContains(t, err, "a goroutine that was started outside the trial dials its server")
	require.ErrorContains(t, c.Close(), "a goroutine that was started outside the trial dials its server")
}

func TestOverlaid_Texts_NameServersAndNoHosts(t *testing.T) {
	c, _ := client(t)
	text := errors.New("dial " + c.Address(1) + ": lookup " + strings.TrimSuffix(c.Address(0), ":6379")).Error()
	require.Equal(t, "dial n2: lookup n1", c.Plain(text, []string{"n1", "n2"}))
}
