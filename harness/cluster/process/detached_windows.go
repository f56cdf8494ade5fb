package process

import "syscall"

// attributes keep a Ctrl-C at the terminal away from a child.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
