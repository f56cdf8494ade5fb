package interleave

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Wait is a goroutine's wait at a point.
type Wait struct {
	Point string        `json:"point"` // mutex.go:120
	Nth   int           `json:"nth"`   // count of arrivals at the point, with this one
	For   time.Duration `json:"for"`
	// Meanwhile are the points that other goroutines passed during the wait, in order.
	Meanwhile []string `json:"meanwhile,omitempty"`
}

// odds: a goroutine waits at one point in odds.
const odds = 4

// maxWaits bounds the waits of one trial: a polling loop would make a million.
const maxWaits = 2000

// state belongs to the current trial; a process runs one at a time.
var state struct {
	sync.Mutex // never held across a wait
	built      bool
	active     bool
	seed       uint64
	reach      time.Duration
	only       *[]Wait // nil: waits are drawn
	passed     map[string]int
	holds      map[uint64]int // number of held mutexes by goroutine
	made       []Wait
	waiting    map[uint64]int // index in made of a goroutine's current wait
}

// Built records that a package of this program has points; each file with points calls it.
func Built() bool {
	state.built = true
	return true
}

// BuiltIn reports whether some package of this program has points.
func BuiltIn() bool { return state.built }

// Begin starts the waits: drawn from the seed, each for at most reach, or exactly those in only unless that is nil.
func Begin(seed uint64, reach time.Duration, only *[]Wait) {
	state.Lock()
	defer state.Unlock()
	state.active, state.seed, state.reach, state.only = true, seed, reach, only
	state.passed, state.holds, state.waiting, state.made = map[string]int{}, map[uint64]int{}, map[uint64]int{}, nil
}

// End stops the waits and returns all waits of the trial, in order.
func End() []Wait {
	state.Lock()
	defer state.Unlock()
	state.active = false
	return state.made
}

// Point may delay a goroutine, so that others overtake it.
func Point(place string) {
	if !inBubble() {
		return
	}
	self := goroutine()
	d := begin(self, place)
	if d == 0 {
		return
	}
	time.Sleep(d)
	state.Lock()
	defer state.Unlock()
	delete(state.waiting, self)
}

// begin records a goroutine's arrival at a point, and returns its wait there.
func begin(self uint64, place string) time.Duration {
	state.Lock()
	defer state.Unlock()
	if !state.active {
		return 0
	}
	for other, i := range state.waiting {
		if other != self {
			state.made[i].Meanwhile = append(state.made[i].Meanwhile, place)
		}
	}
	state.passed[place]++
	if state.holds[self] > 0 || len(state.made) == maxWaits {
		return 0
	}
	d := wait(place, state.passed[place])
	if d > 0 {
		state.waiting[self] = len(state.made)
		state.made = append(state.made, Wait{Point: place, Nth: state.passed[place], For: d})
	}
	return d
}

// wait returns the wait at a point, 0 for none.
func wait(place string, nth int) time.Duration {
	if state.only != nil {
		for _, w := range *state.only {
			if w.Point == place && w.Nth == nth {
				return w.For
			}
		}
		return 0
	}
	z := state.seed
	for _, b := range []byte(place) {
		z = mix(z ^ uint64(b))
	}
	z = mix(z ^ uint64(time.Now().UnixNano()))
	if z%odds != 0 {
		return 0
	}
	bits := 0
	for r := state.reach; r > 1; r >>= 1 {
		bits++
	}
	if bits == 0 {
		return 0
	}
	z = mix(z)
	low := time.Duration(1) << (z % uint64(bits))
	return low + time.Duration(mix(z)%uint64(low))
}

// mix is the finalizer of SplitMix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

// Lock acquires a mutex at a point, by its method Lock or RLock.
func Lock(place string, lock func()) {
	Point(place)
	lock()
	count(1)
}

// Unlock releases a mutex, with a point after it.
func Unlock(place string, unlock func()) {
	unlock()
	count(-1)
	Point(place)
}

// TryLock tries to acquire a mutex.
func TryLock(tryLock func() bool) bool {
	locked := tryLock()
	if locked {
		count(1)
	}
	return locked
}

// Do calls a Once's method Do, which holds a mutex while it runs f; f may panic.
func Do(place string, do func(func()), f func()) {
	Point(place)
	do(Held(f))
}

// Held wraps a function for sync.OnceFunc and Once.Do, which hold a mutex while they run it.
func Held(f func()) func() {
	return func() {
		count(1)
		defer count(-1)
		f()
	}
}

// HeldValue is Held for sync.OnceValue.
func HeldValue[T any](f func() T) func() T {
	return func() T {
		count(1)
		defer count(-1)
		return f()
	}
}

// HeldValues is Held for sync.OnceValues.
func HeldValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) {
	return func() (T1, T2) {
		count(1)
		defer count(-1)
		return f()
	}
}

// count counts the mutexes of a goroutine, never below 0. A mutex that another goroutine unlocks stays counted: then
// this goroutine waits at no further point.
func count(change int) {
	if !inBubble() {
		return
	}
	self := goroutine()
	state.Lock()
	defer state.Unlock()
	if !state.active {
		return
	}
	state.holds[self] = max(0, state.holds[self]+change)
	if state.holds[self] == 0 {
		delete(state.holds, self)
	}
}

// inBubble reports whether this goroutine is in virtual time: a bubble's clock begins with the year 2000
// (testing/synctest).
func inBubble() bool { return time.Now().Year() < 2020 }

// goroutine is the number of this goroutine, which Go has only in a trace: "goroutine 7 [".
func goroutine() uint64 {
	var text [32]byte
	line := text[:runtime.Stack(text[:], false)]
	_, line, _ = bytes.Cut(line, []byte(" "))
	digits, _, _ := bytes.Cut(line, []byte(" "))
	n, _ := strconv.ParseUint(string(digits), 10, 64)
	return n
}
