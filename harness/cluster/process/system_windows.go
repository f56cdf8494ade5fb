package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
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

// stillActive is the exit code of a process that has not ended (STILL_ACTIVE).
const stillActive = 259

// identify asks the system who a process is. One that has ended is not found, even
// while somebody holds a handle to it.
func identify(pid int) (Identity, error) {
	p, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return Identity{}, errGone
	}
	defer windows.CloseHandle(p)
	var code uint32
	if err := windows.GetExitCodeProcess(p, &code); err != nil {
		return Identity{}, os.NewSyscallError("GetExitCodeProcess", err)
	}
	if code != stillActive {
		return Identity{}, errGone
	}
	var started, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(p, &started, &ended, &kernel, &user); err != nil {
		return Identity{}, os.NewSyscallError("GetProcessTimes", err)
	}
	name := make([]uint16, windows.MAX_LONG_PATH)
	length := uint32(len(name))
	if err := windows.QueryFullProcessImageName(p, 0, &name[0], &length); err != nil {
		return Identity{}, os.NewSyscallError("QueryFullProcessImageName", err)
	}
	return Identity{
		PID: pid, Started: strconv.FormatInt(started.Nanoseconds(), 10),
		Command: filepath.Base(windows.UTF16ToString(name[:length])),
	}, nil
}

// dead: nobody is found who has ended.
func dead(int) bool { return false }

// ThreadStates is for pauses, which are for other systems.
func ThreadStates(int) (string, error) { return "", errors.ErrUnsupported }

// ChildrenOf is for the preload shim, which is for Linux only.
func ChildrenOf(int) ([]Identity, error) { return nil, errors.ErrUnsupported }

// own: folders in a user's profile are that user's.
func own(info os.FileInfo) bool { return info.IsDir() }

// InterruptGroup ends a command that Start has started: Windows has no SIGINT for it.
func InterruptGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }
