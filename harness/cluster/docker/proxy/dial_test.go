//go:build unix

package proxy

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"lockproof/internal/needs"
)

// TestMovingEndsADial has a server that neither answers nor refuses.
func TestMovingEndsADial(t *testing.T) {
	hole := blackHole(t)
	s := begin(t, func(r *Run) { r.Servers["n1"] = hole })
	db := s.dial(t, "c1", "n1")
	failed := make(chan error, 1)
	go func() { failed <- db.Ping(context.Background()).Err() }()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, s.Move(t.Context(), "n1", ""))
	select {
	case err := <-failed:
		require.Error(t, err)
	case <-time.After(dialWithin / 2):
		require.Fail(t, "the client still waits for a server that has gone")
	}
}

// blackHole is an address where a connection is neither made nor refused: that
// of a listener whose queue is full.
func blackHole(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { ln.Close() })
	raw, err := ln.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { require.NoError(t, unix.Listen(int(fd), 0)) }))
	for range 16 {
		conn, err := net.DialTimeout("tcp", ln.Addr().String(), 50*time.Millisecond)
		if err != nil {
			return ln.Addr().String()
		}
		t.Cleanup(func() { conn.Close() })
	}
	needs.Check(t, needs.System, errors.New("it takes connections beyond the queue of a listener"))
	return ""
}
