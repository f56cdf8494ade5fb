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

// layout mirrors struct control of compose/shim/src/control.h.
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

// entry mirrors struct synced_file.
type entry struct {
	state  uint32
	_      uint32
	name   File
	length int64
	_      [2]uint64
}

// File identifies a file independently of its path. Born, in Unix nanoseconds, distinguishes it from an earlier file
// with the same inode; it is 0 if the file system does not record it.
type File struct {
	Major, Minor, Inode uint64
	Born                int64
}

const (
	magic     = 0x31504d4948534b4c
	fileReady = 2
	size      = int(unsafe.Sizeof(layout{}))
)

// Control sets the clock and the disk faults of one server: of every process started with its Environment. Changes take
// effect at once. Its methods are safe for concurrent use.
type Control struct {
	file string

	mu     sync.Mutex
	mapped []byte // nil once closed
	l      *layout
}

var errClosed = errors.New("the shim's control is closed")

// Create creates a control file, which appears complete. Initially, servers have the host's clock and a healthy disk.
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
	f, err := os.OpenFile(file+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
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
	return c, errors.Join(os.Link(file+".new", file), os.Remove(file+".new")) // Link fails if the file is there
}

// Close unmaps the file. The file stays, and servers keep its last settings.
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

// Environment returns the variables that put a server under this control, given the shim's library.
func (c *Control) Environment(library string) []string {
	if others := os.Getenv(preload); others != "" {
		library += ":" + others
	}
	return []string{preload + "=" + library, Variable + "=" + c.file}
}

const preload = "LD_PRELOAD"

// Commands reports whether a process is under this control. A process started with Environment may not be, for example
// because it is statically linked.
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

// with calls f while the file is mapped.
func (c *Control) with(f func(*layout) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.l == nil {
		return errClosed
	}
	return f(c.l)
}

// wallAt is the wall clock at a time of CLOCK_MONOTONIC, as shim.c's commanded_clock computes it.
func (l *layout) wallAt(now int64) int64 {
	rate := math.Float64frombits(l.clockRate)
	if rate == 0 {
		return time.Now().UnixNano()
	}
	return l.clockReading + int64(float64(now-l.clockSince)*rate)
}

// Now is the servers' wall clock, in Unix nanoseconds. It runs also while no server does.
func (c *Control) Now() (now int64, err error) {
	err = c.with(func(l *layout) error {
		now = l.wallAt(realtime.Monotonic())
		return nil
	})
	return now, err
}

// SetClock makes the wall clock jump from its present reading, and sets its rate; rate 0 keeps the present rate.
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
			return since, l.wallAt(since) + int64(jump), rate
		})
		return nil
	})
}

// setClock replaces the clock's line. The sequence number is odd before line reads the true clock, so every reading by
// the old line is earlier.
func (l *layout) setClock(line func() (since, reading int64, rate float64)) {
	sequence := atomic.AddUint64(&l.clockTurn, 1)
	since, reading, rate := line()
	atomic.StoreInt64(&l.clockSince, since)
	atomic.StoreInt64(&l.clockReading, reading)
	atomic.StoreUint64(&l.clockRate, math.Float64bits(rate))
	atomic.StoreUint64(&l.clockTurn, sequence+1)
}

// Disturb sets the disk's faults, for running fsyncs too, and returns the counts of their effects since Create. The
// shim does not see writes by the C library's streams.
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

// synced returns the length of each synced file at the start of its last successful fsync.
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

// CutPower truncates every file below a folder to the length that survives a power cut: the length at its last sync, or
// 0. It returns the number of lost bytes. Kill the folder's servers first: they would continue to write.
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

func cutTo(path string, synced map[File]int64) (lost int64, err error) {
	name, length, err := identify(path)
	if err != nil {
		return 0, err
	}
	if lost = length - synced[name]; lost <= 0 {
		return 0, nil // the server itself has truncated it since
	}
	return lost, os.Truncate(path, synced[name])
}
