package process

import (
	"errors"
	"os"
	"syscall"
)

// The signals that stop a process and let it go on: Windows has none, and takes
// signals but for SIGKILL as errors.
const (
	stop = syscall.Signal(19)
	goOn = syscall.Signal(18)
)

// attributes keep a Ctrl-C at the terminal from the child.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// Nobody is found: there are no local clusters on Windows.
func identify(int) (Identity, error) { return Identity{}, errGone }

// ThreadStates is for pauses, which are for other systems.
func ThreadStates(int) (string, error) { return "", errors.ErrUnsupported }

// ChildrenOf is for the preload shim, which is for Linux only.
func ChildrenOf(int) ([]Identity, error) { return nil, errors.ErrUnsupported }

// own: folders in a user's profile are that user's.
func own(info os.FileInfo) bool { return info.IsDir() }
