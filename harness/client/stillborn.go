package client

import (
	"net"
	"syscall"
	"time"
)

// stillborn stands for a connection that could not be made: whoever uses it
// hears why.
//
// go-redis counts the dials that fail. After as many as its pool is large it
// dials but once a second, and until then tells every caller of the last
// failure: a node that came back would be noticed late. So no dial fails.
type stillborn struct{ why error }

// bear gives the connection, or one that is stillborn.
func bear(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return stillborn{err}, nil
	}
	return conn, nil
}

func (c stillborn) Read([]byte) (int, error)         { return 0, c.why }
func (c stillborn) Write([]byte) (int, error)        { return 0, c.why }
func (c stillborn) Close() error                     { return nil }
func (c stillborn) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c stillborn) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c stillborn) SetDeadline(time.Time) error      { return nil }
func (c stillborn) SetReadDeadline(time.Time) error  { return nil }
func (c stillborn) SetWriteDeadline(time.Time) error { return nil }

// SyscallConn is where go-redis asks a pooled connection whether it is alive,
// before it uses it: one that nobody waited for any more has come into the pool.
func (c stillborn) SyscallConn() (syscall.RawConn, error) { return nil, c.why }
