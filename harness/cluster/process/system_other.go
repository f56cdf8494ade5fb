//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Workers and real servers need Linux. These stubs let other systems build runs in virtual time.

func (p *Process) send(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

func endGroup(int) {}

func identify(int) (Identity, error) { return Identity{}, errors.ErrUnsupported }

func dead(int) bool { return true }

func own(os.FileInfo) bool { return false }

// ThreadStates is unsupported here.
func ThreadStates(int) (string, error) { return "", errors.ErrUnsupported }

// ChildrenOf is unsupported here.
func ChildrenOf(int) ([]Identity, error) { return nil, errors.ErrUnsupported }
