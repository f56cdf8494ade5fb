//go:build unix && !linux

package process

import "syscall"

// attributes: other systems than Linux have no parent-death signal; there the
// children of a killed harness live on until Clean.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
