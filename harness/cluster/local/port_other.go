//go:build unix && !linux

package local

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// tcpSocket makes a socket that children do not inherit; the lock keeps a fork
// from coming in between.
func tcpSocket() (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(socket)
	}
	return socket, err
}

// share gives the reservation up: these systems let two sockets have one port
// only if both set SO_REUSEPORT, which redis-server does not. A port that is
// taken before the server has it is a clash, and another is tried.
func (p *port) share() error {
	p.release()
	return nil
}
