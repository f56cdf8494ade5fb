//go:build !linux

package process

import "os"

// endGroup does nothing: workers need Linux.
func endGroup(int) {}

// signalGroup signals the process alone.
func (p *Process) signalGroup(s os.Signal) error { return p.cmd.Process.Signal(s) }
