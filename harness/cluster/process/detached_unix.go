//go:build unix && !linux

package process

import "syscall"

// detached keeps a Ctrl-C at the terminal away from a child.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
