package rig

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	peer "github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"
)

// Server is a miniredis that reports its run id and, by its wall clock, its uptime in whole seconds. It can restart
// without its keys.
type Server struct {
	*miniredis.Miniredis
	InfoCalls atomic.Int32

	mu      sync.Mutex
	run     int
	started time.Time
	step    time.Duration // of the wall clock, after the start
	conns   []net.Conn
}

func newServer(t *testing.T, run int) *Server {
	s := &Server{Miniredis: miniredis.NewMiniRedis(), run: run, started: time.Now()}
	s.ClockTTL(true)
	conn, err := s.Dial() // makes it start
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	s.Server().SetPreHook(func(c *peer.Peer, cmd string, args ...string) bool {
		if cmd != "INFO" {
			return false
		}
		s.InfoCalls.Add(1)
		s.mu.Lock()
		defer s.mu.Unlock()
		up := time.Now().Add(s.step).Unix() - s.started.Unix()
		c.WriteBulk(fmt.Sprintf("# Server\r\nredis_version:7.0.15\r\nrun_id:%040d\r\nuptime_in_seconds:%d\r\n", s.run, up))
		return true
	})
	return s
}

func (s *Server) accept(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
}

// Restart ends all connections and deletes all keys.
func (s *Server) Restart() {
	s.RestartBehindProxy()
	s.Drop()
}

// RestartBehindProxy deletes all keys, while a proxy keeps the connections open.
func (s *Server) RestartBehindProxy() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run++
	s.started, s.step = time.Now(), 0
	s.FlushAll()
}

// Drop ends all connections.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		_ = conn.Close()
	}
	s.conns = nil
}

// SetForward steps the wall clock.
func (s *Server) SetForward(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step += d
}
