package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// endGroup waits for the leader of a process group to end, and kills whomever is left
// of the group. The leader is not reaped: until it is, its number is nobody else's.
func endGroup(leader int) {
	for unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = unix.Kill(-leader, unix.SIGKILL) // the leader is in it, so that it is there
}

// signalGroup signals a process, and whomever it has started.
func (p *Process) signalGroup(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil || s == syscall.SIGKILL {
		return err // of its leader's death the whole group dies: see endGroup
	}
	return unix.Kill(-p.cmd.Process.Pid, s.(syscall.Signal))
}
