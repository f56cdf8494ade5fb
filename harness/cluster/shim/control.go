package shim

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"example.org/lockproof/harness/cluster"
	"example.org/lockproof/harness/cluster/realtime"
)

// layout is the control file, as compose/shim/src/control.h describes it.
type layout struct {
	magic         uint64
	clockTurn     uint64
	clockSince    int64
	clockReading  int64
	clockRate     uint64 // the bits of a float64
	syncDelay     int64
	syncError     int64
	syncsDone     uint64
	syncsDelayed  uint64
	syncsFailed   uint64
	syncsLost     uint64
	diskFull      uint64
	writesRefused uint64
	_             [3]uint64
	files         [1024]entry
}

// entry is a file that was synced.
type entry struct {
	state  uint32
	_      uint32
	name   File
	length int64
	_      [2]uint64
}

// File names a file whatever it is called at present. Born, in nanoseconds since
// 1970, tells it from one that had its inode before; 0 where the file system does
// not know.
type File struct {
	Major, Minor, Inode uint64
	Born                int64
}

const (
	magic     = 0x31504d4948534b4c
	fileReady = 2
	size      = int(unsafe.Sizeof(layout{}))
)

// Control commands one server: every process that was started with the shim and
// this control's file. What it says takes effect at once. Its methods may be
// called from any goroutine.
type Control struct {
	file string

	mu     sync.Mutex
	mapped []byte // nil once closed
	l      *layout
}

// errClosed says that a control is not usable any more.
var errClosed = errors.New("the shim's control is closed")

// Create makes a control file. Until it says otherwise, servers have the host's
// own clock and disk.
func Create(file string) (*Control, error) {
	c, err := create(file)
	if err != nil {
		return nil, fmt.Errorf("the shim's control file: %w", err)
	}
	return c, nil
}

func create(file string) (*Control, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays
	if err := f.Truncate(int64(size)); err != nil {
		return nil, err
	}
	mapped, err := mapFile(f, size)
	if err != nil {
		return nil, fmt.Errorf("cannot map %s: %w", file, err)
	}
	c := &Control{file: file, mapped: mapped, l: (*layout)(unsafe.Pointer(&mapped[0]))}
	c.l.magic = magic
	return c, nil
}

// Close gives the mapping up. The file stays, and servers that have it go on as
// they were told last.
func (c *Control) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mapped == nil {
		return nil
	}
	mapped := c.mapped
	c.mapped, c.l = nil, nil
	return unmap(mapped)
}

// Environment is what a server's environment needs beside the host's to be under
// this control, given the shim's library.
func (c *Control) Environment(library string) []string {
	if others := os.Getenv(preload); others != "" {
		library += ":" + others
	}
	return []string{preload + "=" + library, Variable + "=" + c.file}
}

// preload is the variable that the system's loader reads.
const preload = "LD_PRELOAD"

// Commands says whether a process is under this control. One that was started
// with its environment and is not cannot be preloaded into: it is linked
// statically, for one.
func (c *Control) Commands(pid int) (bool, error) {
	file, err := filepath.EvalSymlinks(c.file)
	if err != nil {
		return false, err
	}
	maps, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "maps"))
	if err != nil {
		return false, fmt.Errorf("cannot tell whether the shim is in effect: %w", err)
	}
	return bytes.Contains(maps, []byte(" "+file+"\n")), nil
}

// with calls f with the mapping.
func (c *Control) with(f func(*layout) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.l == nil {
		return errClosed
	}
	return f(c.l)
}

// shows is what the wall clock shows at a time of CLOCK_MONOTONIC; it is shim.c's
// commanded_clock.
func (l *layout) shows(now int64) int64 {
	rate := math.Float64frombits(l.clockRate)
	if rate == 0 {
		return time.Now().UnixNano()
	}
	return l.clockReading + int64(float64(now-l.clockSince)*rate)
}

// Now is what the servers' wall clock shows, in nanoseconds since 1970. It is so
// whether a server runs or not.
func (c *Control) Now() (now int64, err error) {
	err = c.with(func(l *layout) error {
		now = l.shows(realtime.Monotonic())
		return nil
	})
	return now, err
}

// SetClock lets the wall clock jump, and run at another rate from now on; the
// rate 0 leaves it as it is. The jump apart, time goes on from what it is.
func (c *Control) SetClock(jump time.Duration, rate float64) error {
	if rate < 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
		return fmt.Errorf("a clock cannot run at rate %g: give a positive one, or 0 to leave it", rate)
	}
	return c.with(func(l *layout) error {
		if rate == 0 {
			rate = math.Float64frombits(l.clockRate)
		}
		if rate == 0 {
			rate = 1
		}
		l.setClock(func() (since, reading int64, _ float64) {
			since = realtime.Monotonic()
			return since, l.shows(since) + int64(jump), rate
		})
		return nil
	})
}

// setClock gives the clock another line. The sequence is odd before line reads the
// true clock, so that a server which reads by the old line has read before.
func (l *layout) setClock(line func() (since, reading int64, rate float64)) {
	sequence := atomic.AddUint64(&l.clockTurn, 1)
	since, reading, rate := line()
	atomic.StoreInt64(&l.clockSince, since)
	atomic.StoreInt64(&l.clockReading, reading)
	atomic.StoreUint64(&l.clockRate, math.Float64bits(rate))
	atomic.StoreUint64(&l.clockTurn, sequence+1)
}

// Disturb gives the disk its faults, of fsyncs under way included, and counts what they have done since
// the control was made. Writes by the C library's streams are not seen.
func (c *Control) Disturb(d cluster.DiskFaults) (done cluster.Disturbed, err error) {
	if d.Slow < 0 {
		return done, fmt.Errorf("an fsync cannot be delayed by %v: give a positive time, or 0 for none", d.Slow)
	}
	err = c.with(func(l *layout) error {
		atomic.StoreInt64(&l.syncDelay, int64(d.Slow))
		atomic.StoreInt64(&l.syncError, int64(syscall.EIO)*flag(d.Fail))
		atomic.StoreUint64(&l.diskFull, uint64(flag(d.Full)))
		done = cluster.Disturbed{
			Delayed: int(atomic.LoadUint64(&l.syncsDelayed)),
			Failed:  int(atomic.LoadUint64(&l.syncsFailed)),
			Full:    int(atomic.LoadUint64(&l.writesRefused)),
		}
		return nil
	})
	return done, err
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// synced tells how long each file was when the last fsync of it that succeeded
// began. Files that were never synced are not in it.
func (l *layout) synced() (map[File]int64, error) {
	if lost := atomic.LoadUint64(&l.syncsLost); lost > 0 {
		return nil, fmt.Errorf("the shim could not note %d fsyncs: it keeps %d files, and needs the statx system call",
			lost, len(l.files))
	}
	synced := map[File]int64{}
	for i := range l.files {
		// One file may have two entries: see control.h.
		if e := &l.files[i]; atomic.LoadUint32(&e.state) == fileReady {
			synced[e.name] = max(synced[e.name], atomic.LoadInt64(&e.length))
		}
	}
	return synced, nil
}

// CutPower cuts every file below a folder to what a power cut would leave: its
// length when it was last synced, nothing if it never was. It says how many
// bytes that took. The servers that used the folder must have been killed: they
// would go on writing.
func (c *Control) CutPower(folder string) (lost int64, err error) {
	err = c.with(func(l *layout) error {
		synced, err := l.synced()
		if err != nil {
			return err
		}
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			cut, err := cutTo(path, synced)
			lost += cut
			return err
		})
		if err != nil {
			return fmt.Errorf("cut to what was synced: %w", err)
		}
		return nil
	})
	return lost, err
}

// cutTo cuts a file to its synced length.
func cutTo(path string, synced map[File]int64) (lost int64, err error) {
	name, length, err := identify(path)
	if err != nil {
		return 0, err
	}
	if lost = length - synced[name]; lost <= 0 {
		return 0, nil // the server itself has cut it since
	}
	return lost, os.Truncate(path, synced[name])
}
