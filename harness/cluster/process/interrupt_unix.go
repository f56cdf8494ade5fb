//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// InterruptGroup sends SIGINT to a command that Start has started, and to those that it has started.
func InterruptGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
