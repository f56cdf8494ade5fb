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
