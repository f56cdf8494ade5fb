package main

import (
	"net"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/internal/input/inputtest"
)

// The server answers on this machine alone.
func TestServeRefusesOtherAddresses(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "localhost:7420", "[::1]:80", "127.8.9.1:1"} {
		require.NoError(t, checkLoopback(addr), addr)
	}
	for _, addr := range []string{"", "7420", ":7420", "0.0.0.0:7420", "[::]:7420", "192.168.1.2:80", "example.org:80",
		"127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"} {
		require.Error(t, checkLoopback(addr), addr)
	}
	require.ErrorContains(t, checkLoopback("0.0.0.0:8000"), "127.0.0.1:8000, localhost:8000 or [::1]:8000 is right")
}

// FuzzServeAddress takes any text for an address: it is refused, or is one of this
// machine alone.
func FuzzServeAddress(f *testing.F) {
	for _, addr := range []string{
		serveAddr, "localhost:0", "[::1]:65535", "0.0.0.0:80", "[::]:80", ":80", "[::ffff:0.0.0.0]:80",
		"[::ffff:127.0.0.1]:80", "[::1%lo]:80",
		"127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:http", "127.1:80", "2130706433:80", "localhost.:80",
		"127.0.0.1:80:80", "\x1b[2J\u202e:1",
	} {
		f.Add(addr)
	}
	f.Fuzz(func(t *testing.T, addr string) {
		var err error
		inputtest.Bounded(t, len(addr), func() { err = checkLoopback(addr) })
		if err != nil {
			require.NotContains(t, err.Error(), "%!")
			return
		}
		host, _, err := net.SplitHostPort(addr)
		require.NoError(t, err)
		if host != "localhost" {
			at, err := net.ResolveTCPAddr("tcp", addr) // which asks nobody about numbers
			require.NoError(t, err)
			require.True(t, at.IP.IsLoopback(), addr)
		}
		for _, r := range addr {
			require.False(t, unicode.In(r, unicode.Cc, unicode.Cf), "%q", addr)
		}
	})
}
