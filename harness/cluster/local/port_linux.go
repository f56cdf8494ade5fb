package local

import "golang.org/x/sys/unix"

// tcpSocket makes a socket that children do not inherit.
func tcpSocket() (int, error) {
	return unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// share lets the server bind to the port beside the reservation.
func (p *port) share() error {
	return unix.SetsockoptInt(p.socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
}
