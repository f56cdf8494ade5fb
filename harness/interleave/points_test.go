package interleave

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pass runs two goroutines past points, and returns the waits and the order of the goroutines.
func pass(t *testing.T, seed uint64, only *[]Wait) (waits []Wait, order []string) {
	synctest.Test(t, func(*testing.T) {
		Begin(seed, 100*time.Millisecond, only)
		var mu sync.Mutex
		var all sync.WaitGroup
		for name, pace := range map[string]time.Duration{"a": time.Millisecond, "b": 1300 * time.Microsecond} {
			all.Go(func() {
				for range 10 {
					time.Sleep(pace)
					Point(name)
					mu.Lock()
					order = append(order, name)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		waits = End()
	})
	return waits, order
}

func TestPoint_OneSeedOneOrder(t *testing.T) {
	first, order := pass(t, 3, nil)
	require.NotEmpty(t, first)
	again, sameOrder := pass(t, 3, nil)
	require.Equal(t, first, again)
	require.Equal(t, order, sameOrder)
	other, _ := pass(t, 4, nil)
	require.NotEqual(t, first, other)
	for _, w := range first {
		require.LessOrEqual(t, w.For, 100*time.Millisecond)
	}
}

func TestPoint_ChosenWaits_NoOthers(t *testing.T) {
	waits, _ := pass(t, 3, &[]Wait{{Point: "a", Nth: 2, For: 3 * time.Millisecond}, {Point: "b", Nth: 99, For: time.Hour}})
	require.Len(t, waits, 1)
	require.Equal(t, "a", waits[0].Point)
	require.Equal(t, 3*time.Millisecond, waits[0].For)
	require.Contains(t, waits[0].Meanwhile, "b")
	none, _ := pass(t, 3, &[]Wait{})
	require.Empty(t, none)
}

// A wait with a mutex held would stop the bubble's clock for goroutines that wait for the mutex.
func TestPoint_NeverWaitsWhileAMutexIsHeld(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		Begin(1, 100*time.Millisecond, nil)
		var mu sync.RWMutex
		pass := func(place string) {
			for range 100 {
				Point(place)
				time.Sleep(time.Microsecond)
			}
		}
		for _, hold := range []func(){
			func() { Lock("", mu.Lock); defer Unlock("", mu.Unlock); pass("held") },
			func() { Lock("", mu.RLock); defer Unlock("", mu.RUnlock); pass("read") },
			func() { require.True(t, TryLock(mu.TryLock)); defer Unlock("", mu.Unlock); pass("tried") },
			func() { Do("", new(sync.Once).Do, func() { pass("once") }) },
			sync.OnceFunc(Held(func() { pass("func") })),
			func() { sync.OnceValue(HeldValue(func() int { pass("value"); return 1 }))() },
			func() { _, _ = sync.OnceValues(HeldValues(func() (int, error) { pass("values"); return 1, nil }))() },
		} {
			hold()
		}
		require.False(t, TryLock(func() bool { return false }))
		for _, w := range state.made {
			require.Empty(t, w.Point, "a wait with a mutex held")
		}
		pass("free")
		waits := End()
		require.Equal(t, "free", waits[len(waits)-1].Point)
	})
}

func TestPoint_OutsideATrialOrABubble_DoesNothing(t *testing.T) {
	Begin(1, time.Hour, nil)
	began := time.Now()
	for range 100 {
		Point("outside")
	}
	require.Empty(t, End())
	require.Less(t, time.Since(began), time.Minute)
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		for range 100 {
			Point("after")
		}
		require.Zero(t, time.Since(began))
	})
}
