//go:build overlaid

package overlay_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/overlay"
)

// dialled returns connections and records the dialled servers.
type dialled struct{ servers []int }

func (d *dialled) dial(_ context.Context, _ string, server int) (net.Conn, error) {
	d.servers = append(d.servers, server)
	near, far := net.Pipe()
	return near, far.Close()
}

// client makes a client with two servers, in a program with the overlay.
func client(t *testing.T) (*overlay.Client, *dialled) {
	t.Helper()
	require.True(t, overlay.BuiltIn(), "TestBuilt_WithTheOverlay runs a program that has it")
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

func TestOverlaid_EachClient_HasItsOwnHosts(t *testing.T) {
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

func TestOverlaid_DialTimeout_EndsTheDial(t *testing.T) {
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

func TestOverlaid_UnknownHost_IsRefusedAndReported(t *testing.T) {
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

func TestOverlaid_ClosedClient_RefusesConnections(t *testing.T) {
	c, _ := client(t)
	require.NoError(t, c.Close())
	synctest.Test(t, func(t *testing.T) {
		_, err := net.Dial("tcp", c.Address(0))
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

// A real socket would escape every fault.
func TestOverlaid_DialTCP_IsRefusedAndReported(t *testing.T) {
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
