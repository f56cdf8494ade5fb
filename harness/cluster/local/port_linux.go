package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// port is a TCP port of 127.0.0.1, reserved for a server also while it is down.
type port struct{ number, socket int }

// reservePort reserves a free port by a bound socket that never listens. The system then assigns the port to no other
// socket, and refuses connections while the server is down. SO_REUSEADDR, set after the bind, allows the server, which
// sets it too, to bind the same number.
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

// loopbackSocket is a TCP socket bound to a port of 127.0.0.1; 0 means any free port. Go's own sockets set SO_REUSEADDR
// before the bind.
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

// release frees the port, if there is one. It may be called repeatedly.
func (p *port) release() {
	if p != nil && p.socket >= 0 {
		unix.Close(p.socket)
		p.socket = -1
	}
}
