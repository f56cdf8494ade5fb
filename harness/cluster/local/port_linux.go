package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1 that a server keeps for its whole life, also
// while it is down.
type port struct{ number, socket int }

// reservePort has the system choose a free port. It stays reserved: a
// socket is bound to it that never listens. The system then gives the port to
// no one who asks for any port, starts no outgoing connection from it, and
// refuses connections to it while the server is down. SO_REUSEADDR, set only
// afterwards, lets in the server, which sets it too and asks for the number.
func reservePort() (*port, error) {
	socket, err := loopbackSocket(0)
	if err != nil {
		return nil, fmt.Errorf("cannot reserve a port on 127.0.0.1: %w", err)
	}
	name, err := unix.Getsockname(socket)
	bound, ok := name.(*unix.SockaddrInet4)
	if err == nil && ok {
		err = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil || !ok {
		unix.Close(socket)
		return nil, fmt.Errorf("cannot share a port on 127.0.0.1 with its server: %v", err)
	}
	return &port{bound.Port, socket}, nil
}

// loopbackSocket is a TCP socket bound to a port of 127.0.0.1, 0 for any that is free. It is
// made by hand since Go sets SO_REUSEADDR on its own before it binds them.
func loopbackSocket(port int) (int, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(socket, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
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
