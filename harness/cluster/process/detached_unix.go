//go:build unix && !linux

package process

import "syscall"

// attributes keep a Ctrl-C at the terminal away from a child.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
