package redlock

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// The benchmarks compare an acquire and release with the same commands sent
// with nothing around them, on five real servers: that is the limit. Each round
// has a key of its own, so that none meets what the last one left under way.

func BenchmarkLock(b *testing.B) {
	r, err := New(realServers(b, 5), WithNodeTimeout(time.Second))
	require.NoError(b, err)
	for i := 0; b.Loop(); i++ {
		l, err := r.TryAcquire(b.Context(), key+strconv.Itoa(i), 10*time.Second)
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	require.NoError(b, r.Close())
}

func BenchmarkRawFanOut(b *testing.B) {
	nodes := realServers(b, 5)
	ctx := b.Context()
	majority := func(command func(redis.UniversalClient) error) {
		done := make(chan error, len(nodes))
		for _, n := range nodes {
			go func() { done <- command(n) }()
		}
		for range len(nodes)/2 + 1 {
			if err := <-done; err != nil && err != redis.Nil {
				b.Fatal(err)
			}
		}
	}
	for i := 0; b.Loop(); i++ {
		token := strconv.Itoa(i)
		majority(func(n redis.UniversalClient) error {
			return n.Process(ctx, redis.NewStringCmd(ctx, "set", key+token, token, "nx", "get", "px", 10000))
		})
		majority(func(n redis.UniversalClient) error {
			return redis.NewScript(deleteIfOurs.source).Run(ctx, n, []string{key + token}, token).Err()
		})
	}
}
