//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// The signals that stop a process and let it go on.
const (
	stop = syscall.SIGSTOP
	goOn = syscall.SIGCONT
)

// dead says whether there is nothing of a process but its number: it has ended
// and was not reaped.
func dead(pid int) bool {
	states, err := ThreadStates(pid)
	return err != nil || states == "Z" || states == "X"
}

// own says whether it is a folder of this user that no one else can write to.
func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o022 == 0
}

// InterruptGroup sends SIGINT to a command that Start has started, and to those that it has started.
func InterruptGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
