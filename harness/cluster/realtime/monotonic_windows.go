package realtime

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel    = windows.NewLazySystemDLL("kernel32.dll")
	counter   = kernel.NewProc("QueryPerformanceCounter")
	frequency = kernel.NewProc("QueryPerformanceFrequency")
)

// Monotonic reads the performance counter, which all processes share, in
// nanoseconds.
func Monotonic() int64 {
	var ticks, second int64
	// Neither can fail, from Windows XP on.
	_, _, _ = counter.Call(uintptr(unsafe.Pointer(&ticks)))
	_, _, _ = frequency.Call(uintptr(unsafe.Pointer(&second)))
	return ticks/second*int64(time.Second) + ticks%second*int64(time.Second)/second
}
