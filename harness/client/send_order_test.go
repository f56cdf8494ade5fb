package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"lockproof/harness/cluster/virtual/bubble"
)

// TestCommandsOfOneInstantGoInTheOrderOfTheirWords sends from many goroutines
// at a time, over and over.
func TestCommandsOfOneInstantGoInTheOrderOfTheirWords(t *testing.T) {
	sent := func() (got []string) {
		began := time.Now()
		order := &sendOrder{now: func() int64 { return int64(time.Since(began)) }}
		var mu sync.Mutex
		process := order.ProcessHook(func(_ context.Context, cmd redis.Cmder) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(cmd.Args()[1], " at ", time.Since(began)))
			return nil
		})
		var all sync.WaitGroup
		for word, after := range map[string]time.Duration{"c": 0, "a": 0, "d": 0, "b": 0, "A": 1, "B": 1, "z": 9} {
			all.Go(func() {
				time.Sleep(after)
				process(t.Context(), redis.NewStringCmd(t.Context(), "get", word))
			})
		}
		all.Wait()
		return got
	}
	for range 50 {
		var got []string
		require.NoError(t, bubble.Run(func() { got = sent() }))
		require.Equal(t, []string{"a at 1ns", "b at 2ns", "c at 3ns", "d at 4ns", "A at 5ns", "B at 6ns", "z at 10ns"}, got)
	}
}

// What one deadline cuts short on several servers fails in the order of the servers; what
// a server answers, an error as well, comes when it comes.
func TestWhatFailsAtOneInstantDoesSoInTheOrderOfTheServers(t *testing.T) {
	failed := func(err error) (got []string) {
		began := time.Now()
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, server := range []int{2, 0, 1} {
			order := &sendOrder{now: func() int64 { return int64(time.Since(began)) }, server: server}
			process := order.ProcessHook(func(context.Context, redis.Cmder) error {
				time.Sleep(100 - time.Since(began)) // all at one instant
				return err
			})
			all.Go(func() {
				require.Equal(t, err, process(t.Context(), redis.NewStringCmd(t.Context(), "get", "k")))
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprint(server, " at ", time.Since(began)))
			})
		}
		all.Wait()
		return got
	}
	for range 50 {
		var got []string
		require.NoError(t, bubble.Run(func() { got = failed(context.DeadlineExceeded) }))
		require.Equal(t, []string{"0 at 101ns", "1 at 105ns", "2 at 109ns"}, got)
		for _, err := range []error{nil, redis.Nil} {
			require.NoError(t, bubble.Run(func() { got = failed(err) }))
			require.ElementsMatch(t, []string{"0 at 100ns", "1 at 100ns", "2 at 100ns"}, got)
		}
	}
}
