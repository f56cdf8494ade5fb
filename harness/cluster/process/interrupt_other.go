//go:build !unix

package process

import "os/exec"

// InterruptGroup ends a command that Start has started: this system has no SIGINT for it.
func InterruptGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
