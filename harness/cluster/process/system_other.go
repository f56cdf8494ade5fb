//go:build !linux

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Workers and real servers need Linux. These stubs let other systems build runs in virtual time.

const diesWithHarness = false

func (p *Process) send(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// InterruptGroup kills a command started by Start.
func InterruptGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func endGroup(int) {}

func own(os.FileInfo) bool { return false }

// ThreadStates is unsupported here.
func ThreadStates(int) (string, error) { return "", errors.ErrUnsupported }
