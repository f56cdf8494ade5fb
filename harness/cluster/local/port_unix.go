//go:build unix

package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that a server keeps for its whole life, also
// while it is down.
type port struct {
	number int
	socket int // -1 where the system cannot reserve a port
}

// reservePort has the system choose a free port. On Linux it stays reserved: a
// socket is bound to it that never listens. The system then gives the port to
// no one who asks for any port, starts no outgoing connection from it, and
// refuses connections to it while the server is down. SO_REUSEADDR, set only
// afterwards, lets in the server, which sets it too and asks for the number.
func reservePort() (*port, error) {
	socket, err := loopbackSocket()
	if err != nil {
		return nil, fmt.Errorf("cannot reserve a port on 127.0.0.1: %w", err)
	}
	name, err := unix.Getsockname(socket)
	bound, ok := name.(*unix.SockaddrInet4)
	if err != nil || !ok {
		unix.Close(socket)
		return nil, fmt.Errorf("cannot tell the number of a port on 127.0.0.1: %v", err)
	}
	p := &port{number: bound.Port, socket: socket}
	if err := p.share(); err != nil {
		p.release()
		return nil, fmt.Errorf("cannot share port %d with its server: %w", p.number, err)
	}
	return p, nil
}

// loopbackSocket is a TCP socket bound to a free port of 127.0.0.1. It is made
// by hand since Go sets SO_REUSEADDR on its own before it binds them.
func loopbackSocket() (int, error) {
	socket, err := tcpSocket()
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		unix.Close(socket)
		return -1, err
	}
	return socket, nil
}

// release gives the port back, if there is one. It may be called more than once.
func (p *port) release() {
	if p != nil && p.socket >= 0 {
		unix.Close(p.socket)
		p.socket = -1
	}
}
