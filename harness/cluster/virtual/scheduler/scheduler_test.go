package scheduler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The order does not depend on which goroutine adds an event first.
func TestEvents_HappenByTimeThenKey(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := New()
			defer s.End()
			var done []string
			began := time.Now()
			var all sync.WaitGroup
			for what, at := range map[string]struct {
				after time.Duration
				key   Key
			}{
				"script": {1, Key{Class: Script}}, "node": {1, Key{Class: Node}}, "a": {1, Key{Class: Turn, Words: word("a")}},
				"b": {1, Key{Class: Turn, Words: word("b")}}, "other link": {1, Key{Class: Arrival, A: 2}},
				"connection": {1, Key{Class: Arrival, A: 1, B: 2}}, "message": {1, Key{Class: Arrival, A: 1, B: 1, C: 7}},
				"later": {2, Key{}}, "at once": {0, Key{Class: Rest}},
			} {
				all.Go(func() {
					s.After(at.after, at.key, func() { done = append(done, fmt.Sprint(what, " ", int64(time.Since(began)))) })
				})
			}
			all.Wait()
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, []string{"at once 0", "script 1", "message 1", "connection 1", "other link 1", "node 1", "a 1",
				"b 1", "later 2"}, done)
		})
	}
}

func TestEvents_SameInstant_GoroutinesSettleBeforeTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		defer s.End()
		var mu sync.Mutex
		var done []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			done = append(done, what)
		}
		for i := range 5 {
			s.After(time.Second, Key{A: i}, func() {
				note(fmt.Sprint("event ", i))
				relay := make(chan int)
				go func() { note(fmt.Sprint("effect ", <-relay)) }()
				go func() { relay <- i }()
			})
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, []string{"event 0", "effect 0", "event 1", "effect 1", "event 2", "effect 2", "event 3", "effect 3",
			"event 4", "effect 4"}, done)
	})
}

func TestTimer_SetAgainAndStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		var at []time.Duration
		began := time.Now()
		timer := s.NewTimer(Key{}, func() { at = append(at, time.Since(began)) })
		timer.Set(time.Hour)
		timer.Set(time.Second) // sooner
		time.Sleep(2 * time.Second)
		timer.Set(time.Second)
		timer.Set(time.Hour) // later
		time.Sleep(2 * time.Hour)
		timer.Set(time.Second)
		require.True(t, timer.Stop())
		require.False(t, timer.Stop())
		time.Sleep(time.Hour)
		require.Equal(t, []time.Duration{time.Second, 2*time.Second + time.Hour}, at)
		timer.Set(time.Second)
		s.End()
		time.Sleep(time.Hour)
		require.Len(t, at, 2, "nothing happens after the end")
	})
}

func TestSleep_ContextEnds_Returns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		defer s.End()
		began := time.Now()
		require.NoError(t, s.Sleep(t.Context(), Key{}, time.Second))
		require.Equal(t, time.Second, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Sleep(ctx, Key{}, time.Minute), context.DeadlineExceeded)
		require.ErrorIs(t, s.Sleep(ctx, Key{}, time.Minute), context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestContext_EndsByAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		defer s.End()
		parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), t, "value"))
		ctx, cancel := s.WithTimeout(parent, Key{}, time.Second)
		child, end := context.WithTimeout(ctx, time.Hour)
		defer end()
		require.Equal(t, "value", child.Value(t))
		deadline, _ := child.Deadline()
		require.Equal(t, time.Second, time.Until(deadline))
		time.Sleep(2 * time.Second)
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		require.ErrorIs(t, child.Err(), context.DeadlineExceeded)
		cancel()
		require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)

		ctx, cancel = s.WithTimeout(parent, Key{}, time.Hour)
		defer cancel()
		cancelParent(fmt.Errorf("the caller gave up"))
		<-ctx.Done()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.EqualError(t, context.Cause(ctx), "the caller gave up")
	})
}

func TestOwn_SharedContextEnds_UsersEndInOrderOfKeys(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			s := New()
			defer s.End()
			parent, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			var mu sync.Mutex
			var ended []int
			for _, i := range []int{3, 1, 2, 0} {
				go func() {
					ctx, stop := s.Own(parent, Key{Class: Turn, A: i})
					defer stop()
					<-ctx.Done()
					mu.Lock()
					defer mu.Unlock()
					ended = append(ended, i)
				}()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			require.Equal(t, []int{0, 1, 2, 3}, ended)
		})
	}
}

type word string

func (w word) String() string { return string(w) }
