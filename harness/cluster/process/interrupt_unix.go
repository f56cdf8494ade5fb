//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// InterruptGroup sends SIGINT to a command started by Start, and to its children.
func InterruptGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
