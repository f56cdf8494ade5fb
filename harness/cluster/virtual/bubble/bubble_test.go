package bubble_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"example.org/lockproof/harness/cluster/virtual/bubble"
)

func TestRun_TimeIsVirtual(t *testing.T) {
	real := time.Now()
	var began, woke time.Time
	require.NoError(t, bubble.Run(func() {
		began = time.Now()
		time.Sleep(24 * time.Hour)
		woke = time.Now()
	}))
	require.Equal(t, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), began.UTC())
	require.Equal(t, 24*time.Hour, woke.Sub(began))
	require.Less(t, time.Since(real), 10*time.Second, "a day of virtual time should take no real time")
}

func TestRun_Failures_ReturnErrors(t *testing.T) {
	for _, c := range []struct {
		name, text string
		deadlock   bool
		f          func()
	}{
		{"a panic", "panic in virtual time: boom", false, func() { panic("boom") }},
		{"a goexit", "ended by runtime.Goexit", false, runtime.Goexit},
		{"a wait without end", "all goroutines in bubble are blocked", true, func() { <-make(chan int) }},
		{"a goroutine left behind", "blocked goroutines remain", true, func() {
			wait := make(chan int)
			go func() { <-wait }()
		}},
		{"a panic that leaves one behind", "panic in virtual time: boom", true, func() {
			wait := make(chan int)
			go func() { <-wait }()
			panic("boom")
		}},
		{"a bubble in a bubble", "called from within a synctest bubble", false, func() {
			if err := bubble.Run(func() {}); err != nil {
				panic(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := bubble.Run(c.f)
			require.ErrorContains(t, err, c.text)
			if c.deadlock {
				require.ErrorIs(t, err, bubble.ErrDeadlock)
			}
			require.NoError(t, bubble.Run(func() { time.Sleep(time.Second) }), "the next bubble is not hurt")
		})
	}
}

// That includes goroutines that a function of Go started on the caller's behalf.
func TestLeftError_NamesStarters(t *testing.T) {
	err := bubble.Run(func() {
		wait := make(chan int)
		go func() { <-wait }()
		new(sync.WaitGroup).Go(func() { <-wait })
		time.AfterFunc(time.Second, func() { <-wait })
		time.Sleep(time.Minute)
	})
	var left *bubble.LeftError
	require.ErrorAs(t, err, &left)
	require.Len(t, left.Goroutines, 3)
	const own = "example.org/lockproof/harness/cluster/virtual/bubble_test"
	for _, g := range left.Goroutines {
		require.True(t, strings.HasPrefix(g.Owner, own+".TestLeftError"), g.Owner)
		require.Regexp(t, `^bubble_test.go:\d+$`, g.Place)
		require.True(t, g.BelongsTo([]string{"other", own}))
		require.True(t, g.BelongsTo([]string{"example.org/lockproof/harness"}), "a package above")
		require.False(t, g.BelongsTo([]string{"example.org/lockproof/harn", own + "x"}))
	}
	require.ErrorContains(t, err, "blocked goroutines remain; started by "+own+".TestLeftError")
	err = bubble.Run(func() {
		var group errgroup.Group
		group.Go(func() error { select {} })
		go func() { _ = group.Wait() }()
	})
	require.ErrorAs(t, err, &left)
	for _, g := range left.Goroutines {
		require.True(t, g.BelongsTo([]string{"golang.org/x/sync/errgroup"}), "%s: it was started there, or waits there", g)
	}
	require.Len(t, left.Goroutines, 2)
}
