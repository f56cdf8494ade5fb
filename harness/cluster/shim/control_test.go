package shim

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster"
)

func TestLayout_GoAndC_Agree(t *testing.T) {
	p := newProbe(t)
	var l layout
	var e entry
	require.Equal(t, []int64{
		int64(unsafe.Offsetof(l.magic)), int64(unsafe.Offsetof(l.clockTurn)), int64(unsafe.Offsetof(l.clockSince)),
		int64(unsafe.Offsetof(l.clockReading)), int64(unsafe.Offsetof(l.clockRate)), int64(unsafe.Offsetof(l.syncDelay)),
		int64(unsafe.Offsetof(l.syncError)), int64(unsafe.Offsetof(l.syncsDone)), int64(unsafe.Offsetof(l.syncsDelayed)),
		int64(unsafe.Offsetof(l.syncsFailed)), int64(unsafe.Offsetof(l.syncsLost)),
		int64(unsafe.Offsetof(l.diskFull)), int64(unsafe.Offsetof(l.writesRefused)), int64(unsafe.Offsetof(l.files)),
		int64(unsafe.Offsetof(e.state)),
		int64(unsafe.Offsetof(e.name) + unsafe.Offsetof(e.name.Major)),
		int64(unsafe.Offsetof(e.name) + unsafe.Offsetof(e.name.Minor)),
		int64(unsafe.Offsetof(e.name) + unsafe.Offsetof(e.name.Inode)),
		int64(unsafe.Offsetof(e.name) + unsafe.Offsetof(e.name.Born)),
		int64(unsafe.Offsetof(e.length)), int64(unsafe.Sizeof(e)), int64(size), magic, fileReady,
	}, p.numbers(p.do("offsets")))
}

// reading has the results of all time functions, and the true clock before and after.
type reading struct {
	began, ended       int64 // CLOCK_MONOTONIC
	day                int64 // gettimeofday, in microseconds
	real, coarse, secs int64
}

func (p *probe) clocks() reading {
	n := p.numbers(p.do("clocks"))
	require.Len(p.t, n, 6)
	return reading{began: n[0], day: n[1], real: n[2], coarse: n[3], secs: n[4], ended: n[5]}
}

func TestSetClock_Jump_AllTimeFunctionsAgree(t *testing.T) {
	p := newProbe(t)
	for _, jump := range []time.Duration{time.Hour, -3 * time.Hour, 1, 24 * 365 * time.Hour} {
		began := time.Now()
		before, err := p.Now()
		require.NoError(t, err)
		require.NoError(t, p.SetClock(jump, 0))
		r := p.clocks()
		took := time.Since(began) // however busy the machine is
		after, err := p.Now()
		require.NoError(t, err)
		low, high := before+int64(jump), after
		for _, now := range []int64{r.day*1000 + 999, r.real, r.coarse} {
			require.GreaterOrEqual(t, now, low, "jump %v", jump)
		}
		for _, now := range []int64{r.day * 1000, r.real, r.coarse, r.secs * 1e9} {
			require.LessOrEqual(t, now, high, "jump %v", jump)
		}
		require.LessOrEqual(t, r.real, low+int64(took+time.Millisecond), "jump %v", jump)
		require.InDelta(t, r.real/1e9, r.secs, 1)
		require.Less(t, r.ended-r.began, int64(time.Minute), "the true clock is left alone")
	}
}

func TestSetClock_Rate_ServerClockFollows(t *testing.T) {
	p := newProbe(t)
	for _, rate := range []float64{1.2, 0.5, 1.005, 10, 1} {
		require.NoError(t, p.SetClock(0, rate))
		a := p.clocks()
		time.Sleep(100 * time.Millisecond)
		read := time.Now()
		b := p.clocks()
		require.InEpsilon(t, rate, float64(b.real-a.real)/float64(b.began-a.began), 0.002)
		now, err := p.Now()
		require.NoError(t, err)
		require.InDelta(t, b.real, now, rate*float64(time.Since(read)+time.Millisecond),
			"the harness knows what the server sees")
	}
}

func TestControl_InvalidUse_Fails(t *testing.T) {
	c, err := Create(filepath.Join(t.TempDir(), "control"))
	require.NoError(t, err)
	require.ErrorContains(t, c.SetClock(0, -1), "cannot run at rate -1: give a positive one")
	_, err = c.Disturb(cluster.DiskFaults{Slow: -1})
	require.ErrorContains(t, err, "give a positive time, or 0")
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.SetClock(0, 2), errClosed)
	_, err = Create(c.file)
	require.ErrorIs(t, err, os.ErrExist)
}

// Every reading is on one of the two lines between which the clock changes.
func TestSetClock_ConcurrentReads_AreNeverTorn(t *testing.T) {
	p := newProbe(t)
	const a, b = int64(1e17), int64(5e17)
	toA := func() (int64, int64, float64) { return 0, a, 1 }
	toB := func() (int64, int64, float64) { return 1e15, b, 2 }
	p.l.setClock(toA)
	require.Equal(t, "ok", p.do("lines", a, b-2e15))
	sets := 0
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; sets += 2 {
		p.l.setClock(toB)
		p.l.setClock(toA)
	}
	n := p.numbers(p.do("finish"))
	require.Greater(t, sets, 1000)
	require.Greater(t, n[0], int64(100), "readings")
	require.Zero(t, n[1], "torn of %d readings, with %d settings", n[0], sets)
}

func TestSetClock_RateChanges_ClockNeverRunsBackwards(t *testing.T) {
	p := newProbe(t)
	require.NoError(t, p.SetClock(0, 1))
	require.Equal(t, "ok", p.do("forward"))
	for began, i := time.Now(), 0; time.Since(began) < 300*time.Millisecond; i++ {
		require.NoError(t, p.SetClock(0, []float64{100, 0.01, 1.5}[i%3]))
	}
	n := p.numbers(p.do("finish"))
	require.Greater(t, n[0], int64(100), "readings")
	require.Zero(t, n[2], "backward of %d readings", n[0])
}

// A server without its control file would show none of its faults.
func TestServer_BadControlFile_DoesNotStart(t *testing.T) {
	newProbe(t)
	b, err := built()
	require.NoError(t, err)
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(short, []byte("no control file"), 0o600))
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, make([]byte, size), 0o600))
	for file, why := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "No such file or directory",
		short:                              "has the wrong size",
		other:                              "is none, or of another version",
	} {
		cmd := exec.Command(b.probe)
		cmd.Env = (&Control{file: file}).Environment(b.shim)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), file)
		require.Contains(t, string(out), why)
	}
}

func TestDisturb_Fsyncs_AreDelayedAndFail(t *testing.T) {
	p := newProbe(t)
	file := filepath.Join(t.TempDir(), "aof")
	require.Equal(t, "ok", p.do("append", file, 10))

	disturb := func(slow time.Duration, fail bool) cluster.Disturbed {
		done, err := p.Disturb(cluster.DiskFaults{Slow: slow, Fail: fail})
		require.NoError(t, err)
		return done
	}
	disturb(60*time.Millisecond, false)
	began := time.Now()
	require.Equal(t, "ok", p.do("fdatasync", file))
	require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)

	// A delayed fsync returns as soon as the delay is removed.
	disturb(time.Minute, false)
	began = time.Now()
	time.AfterFunc(30*time.Millisecond, func() { _, _ = p.Disturb(cluster.DiskFaults{}) })
	require.Equal(t, "ok", p.do("fsync", file))
	require.Less(t, time.Since(began), 10*time.Second)

	require.Equal(t, "ok", p.do("append", file, 5))
	disturb(0, true)
	require.Equal(t, "EIO", p.do("fsync", file))
	require.Equal(t, "EIO", p.do("fdatasync", file))
	require.Equal(t, int64(10), p.synced(file), "a sync that failed makes nothing safe")
	disturb(0, false)
	require.Equal(t, "ok", p.do("fsync", file))
	require.Equal(t, int64(15), p.synced(file))

	require.Equal(t, cluster.Disturbed{Delayed: 2, Failed: 2}, disturb(0, false))
}

func TestBuild_Repeated_ReusesTheLibrary(t *testing.T) {
	needShim(t)
	dir := filepath.Join(t.TempDir(), "new")
	first, err := Build(dir)
	require.NoError(t, err)
	before, err := os.Stat(first)
	require.NoError(t, err)
	second, err := Build(dir)
	require.NoError(t, err)
	after, err := os.Stat(second)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.True(t, os.SameFile(before, after))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing but the library is left")
}

// A failed build names the obstacle and leaves no files.
func TestBuild_Fails_NamesTheObstacle(t *testing.T) {
	needShim(t)
	folder := filepath.Join(t.TempDir(), "a folder")
	_, err := Build(folder)
	require.ErrorContains(t, err, "blanks and colons separate its files; choose a folder")
	t.Setenv("XDG_CACHE_HOME", folder)
	_, err = Build("")
	require.ErrorContains(t, err, "blanks and colons separate its files; set XDG_CACHE_HOME")

	bin, dir := t.TempDir(), t.TempDir()
	script := "#!/bin/sh\necho 'stdatomic.h: No such file' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(bin, "cc"), []byte(script), 0o700))
	t.Setenv("PATH", bin)
	_, err = Build(dir)
	require.ErrorContains(t, err, "stdatomic.h: No such file; install gcc and the C library's headers")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}
