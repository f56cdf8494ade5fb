package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// forks carries commands to the thread that starts them all.
var forks = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		// Linux sends a child its parent-death signal when the thread that
		// forked it ends, not the process. Go ends idle threads as it likes,
		// but never one that a living goroutine is locked to; and this one lives
		// as long as the process.
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// Start starts a command as the harness starts all of its children: it dies with the harness where the system can
// do that, and is in a process group of its own: a Ctrl-C at the terminal is for the harness, which then ends its
// children in good order.
func Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = attributes()
	started := make(chan error)
	forks() <- func() { started <- cmd.Start() }
	return <-started
}
