//go:build !unix

package process

import "os/exec"

// InterruptGroup kills a command started by Start: this system has no SIGINT.
func InterruptGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
