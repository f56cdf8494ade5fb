package main

import (
	"testing"

	"github.com/stretchr/testify/require"
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
	require.ErrorContains(t, checkLoopback("127.0.0.1:70000"), "a port is a number from 0 to 65535")
	require.ErrorContains(t, checkLoopback("127.0.0.1:x"), "give an address and a port")
}
