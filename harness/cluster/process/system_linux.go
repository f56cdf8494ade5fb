package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const diesWithHarness = true

// attributes make a child die with the thread that forks it, and keep a Ctrl-C at the terminal away from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// send signals the process and its children.
func (p *Process) send(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil || s == syscall.SIGKILL {
		return err // endGroup kills the group after its leader
	}
	return unix.Kill(-p.cmd.Process.Pid, s)
}

// InterruptGroup sends SIGINT to a command started by Start, and to its children.
func InterruptGroup(cmd *exec.Cmd) error { return unix.Kill(-cmd.Process.Pid, unix.SIGINT) }

// endGroup waits for the end of a process group's leader, and kills the rest of the group. The leader is not reaped
// yet, so its number is not reused.
func endGroup(leader int) {
	for unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	_ = unix.Kill(-leader, unix.SIGKILL) // the leader is in it, so the group exists
}

// own reports whether it is a folder of this user to which no other user can write.
func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}

// ThreadStates returns the state letter of each thread of a process (proc(5)). A signal stops the threads one by one;
// the process is stopped when all are.
func ThreadStates(pid int) (string, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "task")
	threads, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var states strings.Builder
	for _, t := range threads {
		stat, err := os.ReadFile(filepath.Join(dir, t.Name(), "stat"))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // the thread ended
		}
		// The state follows the command, which is in parentheses and may contain parentheses.
		state := bytes.LastIndexByte(stat, ')') + len(") ")
		if err == nil && state >= len(stat) {
			err = fmt.Errorf("no state of a thread: %q", stat)
		}
		if err != nil {
			return "", err
		}
		states.WriteByte(stat[state])
	}
	return states.String(), nil
}
