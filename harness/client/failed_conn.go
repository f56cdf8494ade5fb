package client

import (
	"net"
	"syscall"
	"time"
)

// failedConn stands for a connection that could not be made: whoever uses it
// hears why.
//
// go-redis counts the dials that fail. After as many as its pool is large it
// dials but once a second, and until then tells every caller of the last
// failure: a node that came back would be noticed late. So no dial fails.
type failedConn struct{ why error }

// withFailedConn gives the connection, or a failedConn instead of an error.
func withFailedConn(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return failedConn{err}, nil
	}
	return conn, nil
}

func (c failedConn) Read([]byte) (int, error)         { return 0, c.why }
func (c failedConn) Write([]byte) (int, error)        { return 0, c.why }
func (c failedConn) Close() error                     { return nil }
func (c failedConn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c failedConn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c failedConn) SetDeadline(time.Time) error      { return nil }
func (c failedConn) SetReadDeadline(time.Time) error  { return nil }
func (c failedConn) SetWriteDeadline(time.Time) error { return nil }

// SyscallConn is where go-redis asks a pooled connection whether it is alive,
// before it uses it: one that nobody waited for any more has come into the pool.
func (c failedConn) SyscallConn() (syscall.RawConn, error) { return nil, c.why }
