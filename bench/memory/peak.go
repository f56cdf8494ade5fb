package memory

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
)

// Watch begins a measurement. Its result returns the peak of physical memory since then, in bytes; false if the system
// does not report it (Linux does, in /proc).
func Watch() func() (bytes int64, ok bool) {
	debug.FreeOSMemory() // memory of earlier work does not count
	// 5 resets the peak: proc_pid_clear_refs(5).
	err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600)
	return func() (int64, bool) {
		if err != nil {
			return 0, false
		}
		return peak()
	}
}

// peak reads VmHWM, in kB.
func peak() (int64, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, false
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0, false
	}
	kB, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kB << 10, err == nil
}
