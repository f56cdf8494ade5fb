package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.org/lockproof/harness/cluster/virtual/bubble"
	"example.org/lockproof/harness/cluster/virtual/scheduler"
)

// atGate runs a test of gates in virtual time many times: the notes must be the same each time.
func atGate(t *testing.T, want []string, test func(s *scheduler.Scheduler, note func(...any))) {
	t.Helper()
	for range 50 {
		var got []string
		require.NoError(t, bubble.Run(func() {
			s := scheduler.New()
			defer s.End()
			began := time.Now()
			var mu sync.Mutex
			test(s, func(what ...any) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, fmt.Sprint(append(what, " at ", time.Since(began))...))
			})
		}))
		require.Equal(t, want, got)
	}
}

func get(ctx context.Context, g *gate, word string, send func(context.Context, redis.Cmder) error) error {
	return g.ProcessHook(send)(ctx, redis.NewStringCmd(ctx, "get", word))
}

func TestGate_SharedDeadline_CommandsLeaveInServerOrder(t *testing.T) {
	atGate(t, []string{"0 at 1s", "1 at 1s", "2 at 1s"}, func(s *scheduler.Scheduler, note func(...any)) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		for _, server := range []int{2, 0, 1} {
			g := &gate{scheduler: s, server: server, connections: 9}
			all.Go(func() {
				_ = get(ctx, g, "k", func(ctx context.Context, _ redis.Cmder) error { <-ctx.Done(); return ctx.Err() })
				note(server)
			})
		}
		all.Wait()
	})
}

func TestGate_PoolFull_CommandsWaitForConnection(t *testing.T) {
	want := []string{"sent a at 0s", "d timed out at 2s", "sent b at 10s", "c gave up at 15s", "sent z at 20s"}
	atGate(t, want, func(s *scheduler.Scheduler, note func(...any)) {
		g := &gate{scheduler: s, connections: 1, poolTimeout: time.Minute}
		short := &gate{scheduler: s, connections: 0, poolTimeout: 2 * time.Second}
		slow := func(_ context.Context, cmd redis.Cmder) error {
			note("sent ", cmd.Args()[1])
			time.Sleep(10 * time.Second)
			return nil
		}
		var all sync.WaitGroup
		for _, word := range []string{"z", "b", "a"} {
			all.Go(func() { _ = get(context.Background(), g, word, slow) })
		}
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
			defer cancel()
			if errors.Is(get(ctx, g, "zz", slow), context.DeadlineExceeded) {
				note("c gave up")
			}
		})
		all.Go(func() {
			if errors.Is(get(context.Background(), short, "d", slow), redis.ErrPoolTimeout) {
				note("d timed out")
			}
		})
		all.Wait()
	})
}

// Up to the library's option, and not after the context has ended.
func TestGate_ConnectionLost_ResendsCommand(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		limit time.Duration
		want  []string
	}{
		"the connection ended": {io.EOF, 0, []string{"sent at 0s", "sent at 1s", "sent at 3s", "EOF at 3s"}},
		"the caller gave up": {io.EOF, 2 * time.Second, []string{"sent at 0s", "sent at 1s", "context deadline exceeded " +
			"at 2s"}},
		"the server is loading": {loading("LOADING Redis is loading the dataset in memory"), 0,
			[]string{"sent at 0s", "sent at 1s", "sent at 3s", "LOADING Redis is loading the dataset in memory at 3s"}},
		"the server refused":    {loading("ERR unknown command"), 0, []string{"sent at 0s", "ERR unknown command at 0s"}},
		"nothing was set":       {redis.Nil, 0, []string{"sent at 0s", "redis: nil at 0s"}},
		"the context has ended": {context.Canceled, 0, []string{"sent at 0s", "context canceled at 0s"}},
	} {
		t.Run(name, func(t *testing.T) {
			atGate(t, test.want, func(s *scheduler.Scheduler, note func(...any)) {
				ctx := context.Background()
				if test.limit > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.limit)
					defer cancel()
				}
				g := &gate{scheduler: s, connections: 1, resends: 2, backoff: func(attempt int) time.Duration {
					return time.Duration(attempt+1) * time.Second
				}}
				note(get(ctx, g, "k", func(context.Context, redis.Cmder) error { note("sent"); return test.err }))
			})
		})
	}
}

// loading is an error reply.
type loading string

func (l loading) Error() string { return string(l) }
func (loading) RedisError()     {}
